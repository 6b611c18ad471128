"""Runs as jobs: the cluster's programs are called as they want to be; stand-ins on the path keep what they got."""

import pytest

from orchestra_lib.errors import BadInput, WorldFault
from orchestra_lib.training.jobs import Ray, Slurm, shown

RAY_SAYS = "Job 'raysubmit_a1B2' submitted successfully\nray job stop raysubmit_a1B2"


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Puts programs on the path; each keeps its arguments and says what it is told to."""

    def put(name, says, code=0):
        kept = tmp_path / f"{name}.json"
        (tmp_path / f"{name}.txt").write_text(says)
        file = tmp_path / name
        script = (
            f"printf '%s\\n' \"$@\" > {kept}\ncat {tmp_path}/{name}.txt\n[ {code} = 0 ] || echo broken >&2\nexit {code}"
        )
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return lambda: kept.read_text().splitlines()

    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return put


def test_slurm_gets_the_settings_as_arguments_and_never_through_a_shell(programs, tmp_path):
    asked = programs("sbatch", "4711;cluster\n")
    assert Slurm().submit(tmp_path / "c.toml", ["grpo.note=a b; rm -rf x", "grpo.steps=3"]) == "4711"
    assert asked()[0] == "--parsable"
    assert asked()[1].endswith("launch/slurm.sbatch")
    assert asked()[-4:] == ["--set", "grpo.note=a b; rm -rf x", "--set", "grpo.steps=3"]


def test_a_job_is_asked_after_and_stopped_with_a_signal_that_lets_it_finish(programs):
    programs("squeue", "RUNNING\n")
    stopped = programs("scancel", "")
    assert Slurm().state("4711") == "RUNNING"
    Slurm().stop("4711")
    assert stopped() == ["--batch", "--signal=TERM", "4711"]
    programs("squeue", "")
    assert Slurm().state("4711") == "ENDED"


def test_ray_jobs_by_their_name(programs, tmp_path):
    asked = programs("ray", RAY_SAYS)
    assert Ray().submit(tmp_path / "c.toml", ["grpo.steps=3"]) == "raysubmit_a1B2"
    assert asked()[-5:] == ["python", "launch/ray_job.py", str(tmp_path / "c.toml"), "--set", "grpo.steps=3"]
    programs("ray", "Status for job 'raysubmit_a1B2': SUCCEEDED")
    assert Ray().state("raysubmit_a1B2") == "SUCCEEDED"
    programs("ray", "hello")
    with pytest.raises(WorldFault, match="named no job"):
        Ray().submit(tmp_path / "c.toml")


def test_without_the_programs_and_with_failing_ones_it_is_one_line(programs, tmp_path, monkeypatch):
    programs("sbatch", "", code=1)
    with pytest.raises(WorldFault, match="sbatch ended with 1: broken"):
        Slurm().submit(tmp_path / "c.toml")
    with pytest.raises(BadInput, match=r"a setting reads a\.b=c"):
        Slurm().submit(tmp_path / "c.toml", ["--wrap=x"])
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BadInput, match="there is no scancel here"):
        Slurm().stop("1")


def test_commands_are_shown_without_the_machines_paths():
    assert shown(Slurm().command("configs/h100.toml")) == "sbatch --parsable launch/slurm.sbatch configs/h100.toml"
    assert "--working-dir . -- python launch/ray_job.py c.toml" in shown(Ray().command("c.toml"))

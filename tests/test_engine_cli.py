"""What commands make of --engine, before anything is started."""

import pytest
from typer.testing import CliRunner

from orchestra_lib.cli import app
from orchestra_lib.cli.engine import Engine, absolute, scene_of, where
from orchestra_lib.engine.cluster import Where
from orchestra_lib.errors import BadInput


def test_a_cluster_is_asked_for_by_name_alone():
    assert where(Engine.LOCAL, None, None) is None
    assert where(Engine.RAY, "auto", 3) == Where(address="auto", workers=3)
    for address, workers, words in (
        ("auto", None, "--ray-address auto belongs to"),
        (None, 2, "--workers 2 belongs to"),
    ):
        with pytest.raises(BadInput, match=words):
            where(Engine.LOCAL, address, workers)


@pytest.mark.parametrize(
    "words, refusal",
    [
        (["run", "x", "--record", "--engine", "ray"], "--record writes down what models say in one process"),
        (["grade", "ID", "--by", "person:ann", "--outcome", "solved", "--engine", "ray"], "what a person says"),
        (["synth", "--out", "x", "--llm", "m", "--engine", "ray"], "--llm waits for a model"),
        (["tasks", "verify", "nowhere.jsonl", "--workers", "2"], "belongs to --engine ray"),
        (["eval", "simulated", "--engine", "ray", "--ray-address", "127.0.0.1:1"], "nobody answers at"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(words, refusal, tmp_path, monkeypatch):
    monkeypatch.setenv("ORCHESTRA_HOME", str(tmp_path))
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, BadInput)
    assert refusal in str(done.exception)


def test_files_are_named_so_that_every_worker_finds_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert absolute("tools.py:double") == f"{tmp_path}/tools.py:double"
    assert scene_of(None, None) is None
    loads = scene_of(tmp_path / "bank", "tools.py:Bank")
    assert loads.args == (tmp_path / "bank", f"{tmp_path}/tools.py:Bank")

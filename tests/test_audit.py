"""The audit hands on what pip-audit says; where osv.dev cannot be asked it says so, and that this is no clean bill."""

import sys

import pytest

from scripts.audit import main


@pytest.fixture
def pip_audit(tmp_path):
    """A program in the place of pip-audit, which needs the internet; it runs the given lines."""

    def made(lines):
        program = tmp_path / "pip-audit"
        program.write_text(f"#!{sys.executable}\nimport sys\n{lines}\n", "utf-8")
        program.chmod(0o700)
        return [str(program), "--ignore-vuln", "X-1"]

    return made


def test_what_is_known_is_handed_on_with_its_exit_code(pip_audit, capfd):
    assert main(pip_audit("print(*sys.argv[1:]); print('Found 1', file=sys.stderr); sys.exit(1)")) == 1
    said = capfd.readouterr()
    assert "--vulnerability-service osv" in said.out
    assert said.out.rstrip().endswith("--ignore-vuln X-1")
    assert said.err == "Found 1\n"
    assert main(pip_audit("")) == 0


@pytest.mark.parametrize(
    "lines",
    ["raise ConnectionError('api.osv.dev: unknown')", "sys.exit('Could not connect to OSV, api.osv.dev: unknown')"],
)
def test_a_service_that_cannot_be_asked_is_named_with_the_remedy_and_no_traceback(pip_audit, capfd, lines):
    assert main(pip_audit(lines)) == 2
    said = capfd.readouterr().err
    assert said.startswith("osv.dev could not be asked about ")
    assert "api.osv.dev: unknown\nThis is no clean bill" in said
    assert "HTTPS_PROXY" in said
    assert "Traceback" not in said

"""Known weaknesses of all that is installed, or the reason why nobody could be asked: `make audit`.

    python -m scripts.audit .venv-audit/bin/pip-audit [its options]

pip-audit asks osv.dev about every package of the environment that this runs in. Exit code 0: nothing is known; 1:
something is, and is listed; 2: no answer came, which says nothing of any package.
"""

import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from importlib.metadata import distributions

_BROKE_OFF = ("Traceback (most recent call last)", "Could not connect to OSV")
_REMEDY = (
    "This is no clean bill. Run it where https://api.osv.dev can be reached; HTTPS_PROXY names a proxy, "
    "REQUESTS_CA_BUNDLE a file of certificates."
)


def main(command: Sequence[str]) -> int:
    """Run pip-audit with the options that it always has. The exit code."""
    program, *options = command
    always = ("--vulnerability-service", "osv", "--skip-editable", "--progress-spinner", "off")
    asked = [program, *always, "--path", sysconfig.get_path("purelib"), *options]
    done = subprocess.run(asked, stderr=subprocess.PIPE, text=True, errors="replace")
    if not any(words in done.stderr for words in _BROKE_OFF):
        sys.stderr.write(done.stderr)
        return done.returncode
    packages = len({one.name for one in distributions()})
    why = done.stderr.strip().rpartition("\n")[2][:300]
    print(f"osv.dev could not be asked about {packages} packages: {why}\n{_REMEDY}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

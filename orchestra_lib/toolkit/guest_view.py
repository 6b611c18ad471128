"""What a sandboxed guest sees: the interpreter, the standard library, named packages, system libraries; read-only.

Everything lies at a fixed place inside, so that no path of the host shows in a traceback.
"""

import importlib.metadata
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from packaging.requirements import Requirement

from orchestra_lib.errors import SandboxFault

PACKAGES = ("numpy", "sympy", "pandas", "matplotlib")
_OPTIONAL = ("tzdata",)  # time zones for zoneinfo, where it is installed
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/dev/random")
_PYTHON, _SITE, _GUEST, _WORK = "/python", "/site", "/guest.py", "/work"
COMMAND = (f"{_PYTHON}/bin/python", "-I", "-S", "-B", "-X", "utf8", _GUEST)
_ENVIRONMENT = {
    "HOME": _WORK,
    "TMPDIR": _WORK,
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "MPLBACKEND": "agg",
    "MPLCONFIGDIR": f"{_WORK}/.matplotlib",
    "LD_LIBRARY_PATH": f"{_PYTHON}/lib",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}


def mounts(disk_bytes: int) -> list[str]:
    """Bubblewrap's options for files and environment. Raises `SandboxFault` for a package that is missing."""
    seen = _views()
    parents = {str(parent) for _, target in seen for parent in Path(target).parents} | {"/dev"}
    folders = [part for parent in sorted(parents - {"/"}) for part in ("--perms", "0755", "--dir", parent)]
    views = [part for source, target in seen for part in ("--ro-bind", str(source), target)]
    devices = [part for device in _DEVICES for part in ("--dev-bind", device, device)]
    work = ["--perms", "1777", "--size", str(disk_bytes), "--tmpfs", _WORK, "--symlink", _WORK, "/tmp"]  # noqa: S108  # the guest's own
    settings = [part for name, value in _ENVIRONMENT.items() for part in ("--setenv", name, value)]
    return [*settings, *folders, *views, *_hidden(), *devices, *work, "--remount-ro", "/", "--chdir", _WORK]


def _hidden() -> list[str]:
    """An empty folder over packages that came with the interpreter itself."""
    place = f"{_stdlib()}/site-packages"
    if not (Path(sysconfig.get_path("stdlib")) / "site-packages").is_dir():
        return []
    return ["--size", "4096", "--tmpfs", place, "--remount-ro", place]


@cache
def _views() -> tuple[tuple[Path, str], ...]:
    """What the guest may read: (path on the host, path in the sandbox)."""
    return tuple(_find_views())


def _find_views() -> Iterator[tuple[Path, str]]:
    yield Path(sys.executable).resolve(), f"{_PYTHON}/bin/python"
    yield Path(sysconfig.get_path("stdlib")).resolve(), _stdlib()
    yield Path(__file__).with_name("guest.py"), _GUEST
    system = [path for path in _system_libraries() if path.is_dir()]
    yield from ((path, str(path)) for path in system)
    own = Path(sysconfig.get_config_var("LIBDIR") or Path(sys.base_prefix) / "lib").resolve()
    if own not in [path.resolve() for path in system]:
        yield from ((file, f"{_PYTHON}/lib/{file.name}") for file in sorted(own.glob("*.so*")) if file.is_file())
    for entry in _package_entries():
        yield entry, f"{_SITE}/{entry.name}"


def _stdlib() -> str:
    return f"{_PYTHON}/{sys.platlibdir}/python{sys.version_info.major}.{sys.version_info.minor}"


def _system_libraries() -> list[Path]:
    """Where the loader finds the C library and its like; the Debian layout first, then the others."""
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    debian = [Path(root) / multiarch for root in ("/lib", "/usr/lib")] if multiarch else []
    if any(path.is_dir() for path in debian):
        return [*debian, Path("/lib64")]
    return [Path("/lib64"), Path("/usr/lib64"), Path("/lib"), Path("/usr/lib")]


def _package_entries() -> list[Path]:
    """The folders and files in site-packages of the named packages and all that they need."""
    found: dict[str, importlib.metadata.Distribution] = {}
    wanted = [*PACKAGES, *_OPTIONAL]
    while wanted:
        name = wanted.pop()
        if name.lower() in found:
            continue
        try:
            found[name.lower()] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            if name in _OPTIONAL:
                continue
            raise SandboxFault(f"the package {name} is not installed; install requirements.txt") from None
        needs = map(Requirement, found[name.lower()].requires or ())
        wanted += [need.name for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]
    return sorted({entry for package in found.values() for entry in _entries(package)})


def _entries(package: importlib.metadata.Distribution) -> Iterator[Path]:
    for top in {file.parts[0] for file in package.files or ()}:
        path = Path(str(package.locate_file(top)))
        if top not in ("..", "__pycache__") and not top.endswith(".dist-info") and path.exists():
            yield path

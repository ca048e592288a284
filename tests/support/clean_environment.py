"""Virtual environments that hold given wheels, beside the libraries that are installed here."""

import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

OURS = re.compile(r"(hpc[-_])?harvest|_*editable|.*\.pth$|pip\b|__pycache__")
"""What a clean environment does not see of the libraries installed here."""

BUILD = """
import os, sys
from hatchling.build import build_wheel
out, *roots = sys.argv[1:]
for root in roots:
    os.chdir(root)
    build_wheel(out)
"""


def build_wheels(roots: Iterable[Path], folder: Path) -> None:
    """Build each project's wheel into a folder."""
    command = [sys.executable, "-c", BUILD, folder, *roots]
    subprocess.run(command, check=True, capture_output=True)


def make_environment(
    folder: Path, wheels: Iterable[Path], only: Iterable[Path] | None = None
) -> Path:
    """A virtual environment with these wheels, without their commands; gives its interpreter.

    only: what it sees of the libraries installed here; None for all of them.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = next((folder / "lib").glob("python*/site-packages"))
    for path in installed_here() if only is None else only:
        (site / path.name).symlink_to(path)
    for wheel in wheels:
        ZipFile(wheel).extractall(site)
    return folder / "bin" / "python"


def installed_here() -> Iterator[Path]:
    """The files and folders of the libraries installed here."""
    for libraries in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for path in Path(libraries).iterdir():
            if not OURS.match(path.name):
                yield path


def declared_by(names: Iterable[str]) -> set[Path]:
    """The files and folders here of the distributions that these need, and those need in turn.

    names: requirements, such as ``hpc-harvest[sql]>=0.1``.
    """
    waiting, known = list(map(Requirement, names)), set()
    found: set[Path] = set()
    while waiting:
        wanted = waiting.pop()
        name, extras = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if (name, extras) in known:
            continue
        known.add((name, extras))
        installed = distribution(name)
        if not OURS.match(name):
            tops = {Path(file.parts[0]) for file in installed.files or () if file.parts[0] != ".."}
            found |= {Path(str(installed.locate_file(top))) for top in tops}
        for needed in map(Requirement, installed.requires or ()):
            chosen = extras or {""}
            if needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in chosen):
                waiting.append(needed)
    return {path for path in found if path.name != "__pycache__"}

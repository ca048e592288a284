"""Virtual environments that hold given wheels, beside the libraries that are installed here."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

OURS = re.compile(r"(hpc_)?harvest|_*editable|.*\.pth$|pip\b|__pycache__")
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


def make_environment(folder: Path, wheels: Iterable[Path]) -> Path:
    """A virtual environment with these wheels; gives its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = next((folder / "lib").glob("python*/site-packages"))
    for libraries in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for path in Path(libraries).iterdir():
            if not OURS.match(path.name):
                (site / path.name).symlink_to(path)
    python = folder / "bin" / "python"
    subprocess.run(pip(python, "install", "--no-deps", "--no-index", *wheels), check=True)
    return python


def pip(python: Path, *arguments: str | Path) -> list[str | Path]:
    """A command of pip for an environment."""
    return [sys.executable, "-m", "pip", "--python", python, "-q", *arguments]

"""Scripts of `.ci/` as modules, and wheels that hold nothing but what installers read."""

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[2]


def script(name: str) -> ModuleType:
    """A script of `.ci/` as a module."""
    folder = str(ROOT / ".ci")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(folder)


def wheel(
    folder: Path, name: str, version: str, *, requires: Iterable[str] = (), text: str = ""
) -> Path:
    """A wheel without a module: its name, version, requirements (`name; extra == "x"`) and text."""
    stem = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{stem}-py3-none-any.whl"
    requires = list(requires)
    extras = sorted({line.split('"')[1] for line in requires if "extra ==" in line})
    head = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    head += [f"Provides-Extra: {extra}" for extra in extras]
    head += [f"Requires-Dist: {line}" for line in requires]
    with ZipFile(path, "w") as archive:
        info = f"{stem}.dist-info"
        archive.writestr(f"{info}/METADATA", "\n".join(head) + f"\n\n{text}")
        archive.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{info}/RECORD", f"{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return path

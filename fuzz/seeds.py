"""Sound inputs, made by the generators of the examples and by small builders of the tests."""

import functools
import importlib.util
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import ModuleType

__all__ = ["ROOT", "dask_run", "lines", "load_module", "study"]

ROOT = Path(__file__).resolve().parents[1]


def load_module(path: str) -> ModuleType:
    """A module of this repository that belongs to no package, by its path."""
    file = ROOT / path
    name = "harvest_fuzz_" + file.stem
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    return module


@functools.cache
def dask_run() -> dict[str, bytes]:
    """The files of the example's Dask run, by name."""
    return _files(load_module("examples/make_run.py").write_run)


@functools.cache
def study() -> dict[str, bytes]:
    """The files of the example's NCEM study, by name."""
    make = load_module("examples/ncem-study/make_study.py")
    return _files(lambda folder: make.write(folder, Random(2023)))  # noqa: S311 - no secret


def _files(write: Callable[[Path], None]) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        return {path.name: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def lines(data: bytes, count: int, start: int = 0) -> bytes:
    """Some whole lines of a text."""
    return b"".join(data.splitlines(keepends=True)[start : start + count])

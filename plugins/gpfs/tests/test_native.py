"""Kernels that numba compiles once, and that processes load without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harvest_gpfs.parse import compiled

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not compiled.available(), reason="numba is not installed"),
]

KERNEL = """
from numba import types
import numpy as np
from harvest_gpfs.parse.native import native

@native(types.void(types.CPointer(types.int64), types.int64, types.float64))
def fill(numbers, count, factor):
    for place in range(count):
        numbers[place] = np.int64(place * factor) + ADDED
"""

CALL = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from harvest_gpfs.parse import native
fill = native.load("kernels_here", "fill")
numbers = np.zeros(5, np.int64)
fill(numbers.ctypes.data, 4, 2.5)
print(json.dumps([numbers.tolist(), "numba" in sys.modules]))
"""

FILLED = [0, 2, 5, 7]  # 2.5 times 0 to 3, without fractions


class Place:
    """A directory with a module that has a kernel, and where its machine code is kept."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.kept = folder / "kept"
        self.environment = os.environ | {"NUMBA_CACHE_DIR": str(self.kept)}
        self.write(0)

    def write(self, added: int) -> None:
        source = KERNEL.replace("ADDED", str(added))
        (self.folder / "kernels_here.py").write_text(source)

    def process(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", CALL, str(self.folder)],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def called(self) -> tuple[list[int], bool]:
        """What the kernel filled in a process of its own, and whether that needed numba."""
        return told_by(self.process())

    def files(self) -> list[Path]:
        return sorted(self.kept.iterdir())


def told_by(process: subprocess.Popen[str]) -> tuple[list[int], bool]:
    printed, errors = process.communicate()
    assert process.returncode == 0, errors
    numbers, with_numba = json.loads(printed)
    return numbers, with_numba


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.slow
def test_it_is_compiled_once_and_then_loaded_without_numba(place: Place) -> None:
    assert place.called() == ([*FILLED, 0], True)
    assert place.called() == ([*FILLED, 0], False)
    (file,) = place.files()
    assert file.name.startswith("kernels_here.fill-")


@pytest.mark.slow
def test_another_source_is_compiled_anew(place: Place) -> None:
    place.called()

    place.write(100)

    assert place.called() == ([number + 100 for number in FILLED] + [0], True)
    assert place.called() == ([number + 100 for number in FILLED] + [0], False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
        lambda data: data.replace(b"Pqd", b"Pqq", 1),
        lambda data: b"{}\n" + data,
        lambda data: b"[]\n",
    ],
    ids=["empty", "cut", "another bit", "other arguments", "another head", "no head"],
)
def test_a_damaged_file_is_not_loaded_but_made_anew(
    place: Place, damage: Callable[[bytes], bytes]
) -> None:
    place.called()
    (file,) = place.files()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))

    assert place.called() == ([*FILLED, 0], True)
    assert file.read_bytes() == whole


@pytest.mark.slow
def test_processes_that_compile_it_at_once_do_not_disturb_each_other(place: Place) -> None:
    processes = [place.process() for _ in range(3)]

    assert [told_by(process)[0] for process in processes] == [[*FILLED, 0]] * 3
    assert len(place.files()) == 1
    assert place.called() == ([*FILLED, 0], False)


@pytest.mark.slow
def test_it_is_kept_where_that_is_possible(place: Place) -> None:
    # given two places below a file, in which nothing can be made, and a third that is fine
    blocked = place.folder / "file"
    blocked.write_bytes(b"")
    caches = place.folder / "caches"
    place.environment |= {
        "NUMBA_CACHE_DIR": str(blocked / "a"),
        "PYTHONPYCACHEPREFIX": str(blocked / "b"),
        "XDG_CACHE_HOME": str(caches),
    }

    assert place.called() == ([*FILLED, 0], True)
    assert place.called() == ([*FILLED, 0], False)
    assert [path.parent for path in caches.rglob("*.o")] == [caches / "harvest"]


@pytest.mark.slow
def test_it_works_where_nothing_can_be_kept(place: Place) -> None:
    blocked = place.folder / "file"
    blocked.write_bytes(b"")
    for name in ("NUMBA_CACHE_DIR", "PYTHONPYCACHEPREFIX", "XDG_CACHE_HOME"):
        place.environment[name] = str(blocked / "below")

    assert [place.called() for _ in range(2)] == [([*FILLED, 0], True)] * 2


def needs_an_array(numbers: Any, count: Any) -> None:
    numbers[0] = len(np.zeros(count))


def harmless(numbers: Any, count: Any) -> None:
    numbers[0] = count


def test_a_kernel_cannot_use_what_belongs_to_the_interpreter() -> None:
    from numba import types

    from harvest_gpfs.parse.native import native

    kernel = native(types.void(types.CPointer(types.int64), types.int64))(needs_an_array)

    with pytest.raises(TypeError, match=r"needs_an_array: a native kernel cannot use .*NRT"):
        kernel.code()


@pytest.mark.parametrize(("result", "first"), [("int64", "int64"), ("void", "float32")])
def test_a_kernel_takes_pointers_and_numbers_and_returns_nothing(result: str, first: str) -> None:
    from numba import types

    from harvest_gpfs.parse.native import native

    signature = getattr(types, result)(getattr(types, first), types.int64)

    with pytest.raises(TypeError, match="takes pointers, int64 and float64"):
        native(signature)(harmless).code()


def may_raise(numbers: Any, count: Any) -> None:
    numbers[0] = numbers[1] // count


def test_a_kernel_cannot_raise() -> None:
    from numba import types

    from harvest_gpfs.parse.native import native

    kernel = native(types.void(types.CPointer(types.int64), types.int64))(may_raise)

    with pytest.raises(TypeError, match=r"may_raise: a native kernel cannot use .*PyErr"):
        kernel.code()


def test_a_module_that_is_not_there_is_an_import_error() -> None:
    from harvest_gpfs.parse import native

    with pytest.raises(ModuleNotFoundError, match="no_such_module_here"):
        native.load("no_such_module_here", "walk")


def test_numba_that_is_told_to_do_nothing_counts_as_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")

    assert not compiled.wanted(1 << 40)
    with pytest.raises(ValueError, match="NUMBA_DISABLE_JIT"):
        compiled.wanted(0, "numba")

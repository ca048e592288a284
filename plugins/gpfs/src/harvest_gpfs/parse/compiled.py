"""When a list is read with kernels that numba compiles, and how their helpers are compiled.

numba is the extra ``fast``: large, slow to import, and slow to compile a kernel the first time it
is used on a machine.  So there are two parsers with the same rows: ``columnar``, which needs
nothing, and ``walker`` with the kernels of ``native``, where the input repays loading them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Final

__all__ = ["CHOICES", "WORTH_BYTES", "available", "inlined", "wanted"]

CHOICES: Final = ("auto", "numba", "arrow")
"""What a setting ``kernel`` may be: chosen by size, always compiled, never compiled."""

WORTH_BYTES: Final = 64 << 20
"""Input from which loading a kernel pays (up to half a second a process)."""


def available() -> bool:
    """Whether numba is installed and may compile; does not import it."""
    return find_spec("numba") is not None and os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


def wanted(size_bytes: int, choice: str = "auto") -> bool:
    """Whether an input of this size is to be read with compiled kernels.

    choice: one of ``CHOICES``.  Raises ValueError for another one, or for ``numba`` where it is
    not installed.
    """
    if choice not in CHOICES:
        raise ValueError(f"kernel must be one of {', '.join(CHOICES)}, not {choice!r}")
    if choice == "numba" and not available():
        raise ValueError(
            "numba is not installed (or NUMBA_DISABLE_JIT is set): pip install 'hpc-harvest[fast]'"
        )
    return choice == "numba" or (choice == "auto" and size_bytes >= WORTH_BYTES and available())


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function into each kernel that calls it, as part of that kernel.

    For helpers in the file of their kernels: what is kept on disk is compiled anew when that file
    changes, and not when another one does.
    """
    import numba

    return numba.njit(function, forceinline=True, error_model="numpy")  # type: ignore[no-any-return]

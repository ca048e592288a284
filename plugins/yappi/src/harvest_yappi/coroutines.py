"""Whether a function is a coroutine, looked up in its source file."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

_LARGEST = 16 << 20


def kind_of(module: str | None, lineno: int | None) -> str | None:
    """``function`` or ``coroutine``; None where the source is not here or does not fit."""
    if module is None or lineno is None or not module.endswith(".py"):
        return None
    return _definitions(module).get(lineno)


@lru_cache(maxsize=256)
def _definitions(module: str) -> dict[int, str]:
    path = Path(module)
    try:
        if path.stat().st_size > _LARGEST:
            return {}
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        # the file of another machine or another version: nothing can be said
        return {}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            # a code object begins at its first decorator
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found[first] = "coroutine" if isinstance(node, ast.AsyncFunctionDef) else "function"
    return found

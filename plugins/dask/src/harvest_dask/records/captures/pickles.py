"""What class a pickled exception is of, by the opcodes of the pickle; nothing is unpickled."""

from __future__ import annotations

import pickletools
from typing import Final

LOOKED_AT: Final = 4096
"""Bytes of a pickle that are looked at: a class is named where its object begins."""
_AROUND: Final = ("tblib", "copyreg", "cloudpickle", "functools", "builtins.getattr")
"""What pickles name to make an object of a class, which they name behind."""


def pickled_class(pickled: bytes) -> str | None:
    """The name of the first class in a pickle, without its module; None where there is none."""
    texts: list[str] = []
    memo: list[list[str]] = []
    try:
        for code, value, _ in pickletools.genops(pickled[:LOOKED_AT]):
            if "UNICODE" in code.name or code.name in ("STRING", "SHORT_BINSTRING"):
                texts.append(str(value))
            elif code.name in ("BINGET", "LONG_BINGET"):
                texts.extend(memo[int(value or 0)][:1])
            elif code.name == "MEMOIZE":
                memo.append(texts[-1:])
            elif code.name == "GLOBAL" or (code.name == "STACK_GLOBAL" and len(texts) > 1):
                found = " ".join(texts[-2:]) if value is None else value
                module, _, name = found.partition(" ")
                if not f"{module}.{name}".startswith(_AROUND):
                    return name.rpartition(".")[2] or None
    except (ValueError, IndexError):  # it ends, or is none
        return None
    return None

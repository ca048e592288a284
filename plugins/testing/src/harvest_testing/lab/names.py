"""Names that files have although nobody expects it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

ODD = (
    "with space",
    'it\'s "quoted"',
    "new\nline",
    "glob[1]*?{a,b}",
    "100%25 #1",
    "-o rm; $(x) `y`",
    "Zürich 東京 🙂",
    "combining e\u0301",
    "~root",
    "back\\slash $HOME",
    "a:b@c=d&e,f;",
    "\ttab and blank ",
    "long" * 50,
    os.fsdecode(b"no utf-8 \xff\xfe"),
)


def odd_names(directory: Path) -> Iterator[str]:
    """Those of them that the file system of a directory takes; each directory is made."""
    for name in ODD:
        with contextlib.suppress(OSError, UnicodeEncodeError):
            (directory / name).mkdir()
            yield name

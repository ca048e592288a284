"""Importing this module loads the compiled kernel, by walking over an empty block.

That takes a tenth of a second, or some ten where none was compiled yet on the machine; of processes
that are forked afterwards, none needs to do it again.
"""

from __future__ import annotations

import numpy as np

from .blocks import SLACK
from .layout import list_layout
from .program import Program
from .walker import Walker

__all__: list[str] = []

_ANY = list_layout((), b" ", {}, prefixed=False, gap=b"  ", escaped=False)

Walker(Program.of(_ANY)).parse(np.frombuffer(bytearray(SLACK), np.uint8), 0, 0)

"""All planted bugs, by the plugin that they are planted in."""

from __future__ import annotations

from typing import Final

from ..planting import Bug
from .lines import LINES
from .nested import NESTED
from .ranges import RANGES
from .stations import STATIONS
from .tree import TREE

BUGS: Final[tuple[Bug, ...]] = (*LINES, *RANGES, *STATIONS, *NESTED, *TREE)

"""All planted bugs, by the plugin that they are planted in."""

from __future__ import annotations

from typing import Final

from ..planting import Bug
from .documents_more import DOCUMENTS_MORE
from .engines import ENGINES
from .engines_more import ENGINES_MORE, EXPORTERS_MORE
from .exporters import EXPORTERS
from .fifth import FIFTH
from .fourth import FOURTH
from .lines import LINES
from .lines_more import LINES_MORE
from .nested import NESTED
from .ranges import RANGES
from .second import SECOND
from .sinks import SINKS
from .sinks_more import SINKS_MORE
from .sixth import SIXTH
from .stations import STATIONS
from .third import THIRD
from .tree import TREE
from .views import VIEWS
from .views_more import VIEWS_MORE

BUGS: Final[tuple[Bug, ...]] = (
    *(*LINES, *RANGES, *STATIONS, *NESTED, *TREE, *DOCUMENTS_MORE),
    *(*VIEWS, *SINKS, *EXPORTERS, *ENGINES),
    *(*ENGINES_MORE, *EXPORTERS_MORE),
    *LINES_MORE,
    *(*VIEWS_MORE, *SINKS_MORE),
)

SETS: Final[dict[str, tuple[Bug, ...]]] = {
    "second": tuple(SECOND),
    "third": tuple(THIRD),
    "fourth": tuple(FOURTH),
    "fifth": tuple(FIFTH),
    "sixth": tuple(SIXTH),
}
"""Sets that were planted later, by somebody who had not seen the kit; each was tried once."""

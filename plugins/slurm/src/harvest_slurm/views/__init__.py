"""Views of jobs, declared; the functions that build them are imported when one is asked for."""

from __future__ import annotations

from typing import Final

from .declared.groups import GROUPED
from .declared.runs import OF_RUNS

VIEWS: Final = (*OF_RUNS, *GROUPED)

"""Rules on a Dask run: where its time went, and what puts its record or its results in doubt."""

from typing import Final

from harvest import Rule

from .threads import THREADS
from .work import WORK
from .workers import WORKERS

RULES: Final[tuple[Rule, ...]] = (*THREADS, *WORKERS, *WORK)

"""What one state of a dataset has and another has not.

States share segments.  A row of a segment that counts in both is the same in both, so that a
comparison looks at the others alone: it costs what changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from harvest.api.sink import PartFile

from .columns import FILES, KEYS, file_of, file_texts, reject_of
from .parts import Parts
from .segment import Segment
from .tables import runs_beside, stretches

if TYPE_CHECKING:
    Run = tuple[int, int]

__all__ = ["files_apart", "keys_apart", "rejects_apart", "runs_apart"]


def runs_apart(here: Parts, there: Parts) -> list[Run]:
    """The stretches of ``here.table`` that do not count in the same segment there.

    What lies in other segments may still be alike.
    """
    others = {_name(segment): runs for segment, runs in there.counting()}
    apart: list[Run] = []
    first = 0
    for segment, runs in here.counting():
        theirs = others.get(_name(segment), [])
        apart += [(first + a, first + b) for a, b in runs_beside(runs, theirs)]
        first += sum(stop - start for start, stop in runs)
    return apart


def _name(segment: Segment) -> str | int:
    """What two segments that are the same have in common."""
    return id(segment) if segment.entry is None else segment.entry.file


def keys_apart(here: Parts, there: Parts) -> list[str]:
    """The keys that are here and not there."""
    keys = stretches(here.table(KEYS), runs_apart(here, there)).column("key")
    return [key.hex() for key in _outside(keys, there.table(KEYS).column("key"))]


def files_apart(here: Parts, there: Parts) -> list[PartFile]:
    """The files that hold rows here and not there, each once."""
    runs = runs_apart(here, there)
    if not runs:
        return []
    texts = file_texts(stretches(here.table(FILES), runs))
    others = file_texts(there.table(FILES))
    return [file_of(text) for text in _outside(texts, others)]


def rejects_apart(here: Parts, there: Parts) -> list[PartFile]:
    """The files of rejects that are here and not there."""
    runs = runs_apart(here, there)
    if not runs:
        return []
    texts = stretches(here.table(FILES), runs).column("rejects").drop_null()
    return [reject_of(text) for text in _outside(texts, there.table(FILES).column("rejects"))]


def _outside(values: pa.ChunkedArray, others: pa.ChunkedArray) -> list[Any]:
    """Those of the values that are none of the others, each once."""
    found = values.filter(pc.invert(pc.is_in(values, value_set=others)))
    return list(found.unique().to_pylist())

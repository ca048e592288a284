"""What one state of a dataset has and another has not.

States share segments.  A row of a segment that counts in both is the same in both, so that a
comparison looks at the others alone: it costs what changed.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from harvest.api.sink import PartFile

from .columns import FILES, KEYS, file_of, file_texts, reject_of
from .parts import Parts
from .segment import Segment
from .tables import as_rows, stretches

__all__ = ["files_apart", "keys_apart", "rejects_apart", "rows_apart"]


def rows_apart(here: Parts, there: Parts) -> pa.Array:
    """The rows of ``here.table`` that are not rows of the same segment there.

    What lies in other segments may still be alike.
    """
    others = {_name(segment): runs for segment, runs in there.counting()}
    apart: list[pa.Array] = [as_rows([])]
    first = 0
    for segment, runs in here.counting():
        theirs = others.get(_name(segment), [])
        keys = segment.section(KEYS)
        mine = stretches(keys, runs).column("key")
        if runs != theirs:
            shared = stretches(keys, theirs).column("key")
            rows = pc.indices_nonzero(pc.invert(pc.is_in(mine, value_set=shared)))
            apart.append(pc.add(rows.cast(pa.int64()), first))
        first += len(mine)
    return pa.concat_arrays(apart)


def _name(segment: Segment) -> str | int:
    """What two segments that are the same have in common."""
    return id(segment) if segment.entry is None else segment.entry.file


def keys_apart(here: Parts, there: Parts) -> list[str]:
    """The keys that are here and not there."""
    keys = here.table(KEYS).column("key").take(rows_apart(here, there))
    gone = keys.filter(pc.invert(pc.is_in(keys, value_set=there.table(KEYS).column("key"))))
    return [key.hex() for key in gone.to_pylist()]


def files_apart(here: Parts, there: Parts) -> list[PartFile]:
    """The files that hold rows here and not there, each once."""
    rows = rows_apart(here, there)
    if not len(rows):
        return []
    texts = file_texts(here.table(FILES).take(rows))
    others = file_texts(there.table(FILES))
    return [file_of(text) for text in _outside(texts, others)]


def rejects_apart(here: Parts, there: Parts) -> list[PartFile]:
    """The files of rejects that are here and not there."""
    rows = rows_apart(here, there)
    if not len(rows):
        return []
    texts = here.table(FILES).column("rejects").take(rows).drop_null()
    return [reject_of(text) for text in _outside(texts, there.table(FILES).column("rejects"))]


def _outside(texts: pa.Array, others: pa.Array) -> list[str]:
    """Those of the texts that are none of the others, each once."""
    found: list[str] = (
        texts.filter(pc.invert(pc.is_in(texts, value_set=others))).unique().to_pylist()
    )
    return found

"""What one state of a dataset has and another has not.

States share segments.  A row of a segment that counts in both is the same in both, so that a
comparison looks at the others alone: it costs what changed.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from harvest.api.sink import PartFile

from .columns import KEYS, file_of, reject_of
from .parts import Parts
from .segment import Segment
from .stored_files import StoredFiles


def apart(here: Parts, there: Parts) -> pa.BooleanArray:
    """Which rows of ``here.table`` count, and do not count in the same segment there.

    What lies in other segments may still be alike.
    """
    theirs = dict(zip(map(_name, there.segments), there.counting_by_segment, strict=True))
    found = [
        pc.and_not(mine, theirs[name]) if (name := _name(segment)) in theirs else mine
        for segment, mine in zip(here.segments, here.counting_by_segment, strict=True)
    ]
    return pa.concat_arrays([pa.array([], pa.bool_()), *found])


def _name(segment: Segment) -> str | int:
    """What two segments that are the same have in common."""
    return id(segment) if segment.entry is None else segment.entry.file


def keys_apart(here: Parts, there: Parts) -> list[str]:
    """The keys that are here and not there."""
    keys = here.table(KEYS).column("key").filter(apart(here, there))
    others = there.table(KEYS).column("key").filter(there.counting)
    return [key.hex() for key in _outside(keys, others)]


def files_apart(here: Parts, there: Parts) -> list[PartFile]:
    """The files that hold rows here and not there, each once."""
    rows = apart(here, there)
    if not rows.true_count:
        return []
    texts = StoredFiles(here).texts(among=rows)
    return [file_of(text) for text in _outside(texts, StoredFiles(there).texts())]


def rejects_apart(here: Parts, there: Parts) -> list[PartFile]:
    """The files of rejects that are here and not there."""
    rows = apart(here, there)
    if not rows.true_count:
        return []
    texts = StoredFiles(here).reject_texts(among=rows)
    return [reject_of(text) for text in _outside(texts, StoredFiles(there).reject_texts())]


def _outside(values: pa.Array | pa.ChunkedArray, others: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Those of the values that are none of the others, each once."""
    found = values.filter(pc.invert(pc.is_in(values, value_set=others)))
    return list(found.unique().to_pylist())

"""Links: pairs of records of different sources that belong together."""

from typing import Final

import polars as pl

from harvest import DatasetReader

CERTAIN: Final = "certain"
"""Both records hold the same id, or one is within the other's directory."""
LIKELY: Final = "likely"
"""The records match by place and time, and there is no other candidate."""
POSSIBLE: Final = "possible"
"""The records match, and other candidates do, too."""
SURE: Final = (CERTAIN, LIKELY, POSSIBLE)
"""All values of the column ``sure``, the surest first."""

_KEYS: Final = (
    *("cluster", "job_id", "run", "process", "host", "pid", "log", "record_id", "path"),
    *("inode", "generation", "scan_time", "scan_number", "scan_id"),
)
_NUMBERS: Final = (
    *("candidates", "distiller_id", "generation", "job_id", "job_id_raw", "pid"),
    *("scan_id", "scan_number", "slurm_id"),
)
_TYPES: Final[dict[str, pl.DataType]] = {
    "found": pl.Boolean(),
    **dict.fromkeys(("inode", "record_id"), pl.UInt64()),
    **dict.fromkeys(_NUMBERS, pl.Int64()),
}


def schema(*columns: str) -> dict[str, pl.DataType]:
    """Return column -> type; a column has the same type in all record types, text by default."""
    time, text = pl.Datetime("us", "UTC"), pl.String()
    return {name: time if name.endswith("_time") else _TYPES.get(name, text) for name in columns}


_PROCESS: Final = ("run", "process", "host", "pid")
_ENDS: Final[dict[str, tuple[str, ...]]] = {
    "job to run": ("cluster", "job_id", "run"),
    "run to process": _PROCESS,
    "process to log": (*_PROCESS, "log"),
    "run to log": ("run", "log"),
    "job to log": ("cluster", "job_id", "log"),
    "log to file": ("log", "record_id", "path"),
    "file to entry": ("path", "inode", "generation", "scan_time"),
    "scan to Distiller": ("scan_number", "scan_id"),
    "Distiller to job": ("scan_id", "cluster", "job_id"),
    "job to file": ("cluster", "job_id", "scan_number", "scan_id", "path"),
}
"""Kind of link -> key columns of the two records that it connects."""

_LINK: Final = schema("link", "how", "sure", "candidates", "found", *_KEYS)
"""Columns of a link and their types: how it was made, and the keys of the two records."""


def links(
    frame: pl.LazyFrame,
    link: str,
    *,
    how: str | pl.Expr,
    sure: str | pl.Expr,
    found: bool | pl.Expr = True,
) -> pl.LazyFrame:
    """Make links of one kind from a frame that has the key columns of both records.

    If the frame has a column ``candidates``, a text for ``sure`` holds for a single candidate, and
    links to one of several are possible.
    """
    held, ends = frame.collect_schema().keys(), set(_ENDS[link])
    several = "candidates" in held
    if several and isinstance(sure, str):
        sure = pl.when(pl.col("candidates") > 1).then(pl.lit(POSSIBLE)).otherwise(pl.lit(sure))
    named = {
        "link": link,
        "how": how,
        "sure": sure,
        "candidates": pl.col("candidates") if several else 1,
        "found": found,
        **{key: pl.col(key) if key in held & ends else None for key in _KEYS},
    }
    values = {n: v if isinstance(v, pl.Expr) else pl.lit(v) for n, v in named.items()}
    return frame.select(values[name].cast(kind).alias(name) for name, kind in _LINK.items())


def links_together(*some: pl.LazyFrame) -> pl.LazyFrame:
    """Concatenate links of any number of kinds into one frame."""
    return pl.concat([pl.LazyFrame(schema=_LINK), *some])


def rows(dataset: DatasetReader, record_type: str, *columns: str) -> pl.LazyFrame:
    """Return columns of a record type; an empty frame if the dataset does not have the type."""
    if record_type not in dataset:
        return pl.LazyFrame(schema=schema(*columns))
    return typed(dataset[record_type], *columns)


def typed(frame: pl.LazyFrame, *columns: str) -> pl.LazyFrame:
    """Select columns of a frame, cast to the types of ``schema``."""
    return frame.select(pl.col(name).cast(kind) for name, kind in schema(*columns).items())

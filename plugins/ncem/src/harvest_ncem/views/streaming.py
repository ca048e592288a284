"""Durations of streaming: from a scan's first receiver time to the write of its HDF5 file."""

from typing import Any

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import first_text, fraction

from ..study import load_study
from . import scans
from .declared import STREAMING_COLUMNS


def build(dataset: DatasetReader, study: Any = None) -> pl.LazyFrame:
    """Build one row per HDF5 file, and one per take without a file if the study has the scan.

    study: path of the study's TOML, or a Study; its ranges with method streaming give the size.
    A file belongs to the take whose UUID is at the end of its name, otherwise to the last take that
    started before the file was written.
    """
    made = load_study(study)
    ranged = any(r.method == "streaming" for r in made.ranges)
    takes = scans.takes(dataset)
    files = _files(dataset, takes)
    joined = files.join(takes, on=["scan_number", "take"], how="full", coalesce=True)
    placed = scans.in_ranges(joined, made, "streaming").filter(
        pl.col("write_time").is_not_null() | pl.col("size").is_not_null() | pl.lit(not ranged)
    )
    usable, later = pl.col("excluded").is_null(), "another file of this scan was written earlier"
    nth = usable.cast(pl.Int64).cum_sum().over("scan_number", "take")
    return (
        placed.with_columns(
            scans.seconds_between("first_receiver_time", "write_time").alias("duration_s"),
            scans.volume(made),
        )
        .with_columns(
            _exclusion(ranged=ranged), bytes_per_s=fraction(pl.col("data_gb") * 1e9, "duration_s")
        )
        .sort("scan_number", "take", "write_time", "distiller_id", "path", nulls_last=True)
        .with_columns(excluded=pl.coalesce(first_text((usable & (nth > 1), later)), "excluded"))
        .select(column.name for column in STREAMING_COLUMNS)
    )


def _files(dataset: DatasetReader, takes: pl.LazyFrame) -> pl.LazyFrame:
    """Return the HDF5 files with the take of each: see ``build``."""
    key = pl.col("uuid").str.to_lowercase().str.replace_all("-", "", literal=True)
    files = scans.files(dataset, "h5").select(
        *("scan_number", "distiller_id", "path", "suffix", "size_bytes"),
        key=key,
        write_time="modify_time",
        end_undecided=pl.col("undecided_times").is_not_null(),
    )
    by_uuid = (
        scans.statuses(dataset).group_by("scan_number", key=key).agg(named=pl.col("take").min())
    )
    has_other = pl.col("key").is_not_null() & pl.col("take_uuid").is_not_null()
    return (
        scans.of_last_take(files, "write_time", takes)
        .join(by_uuid, on=["scan_number", "key"], how="left")
        .with_columns(
            take=pl.coalesce("named", "take"), foreign=pl.col("named").is_null() & has_other
        )
        .drop("key", "named", "take_uuid", "first_receiver_time")
    )


def _exclusion(*, ranged: bool) -> pl.Expr:
    return first_text(
        (pl.col("scan_number") == 0, scans.BOGUS),
        (pl.lit(ranged) & pl.col("size").is_null(), "in no scan range for streaming"),
        (pl.col("write_time").is_null(), "no HDF5 file"),
        (pl.col("first_receiver_time").is_null(), scans.NO_BEGIN),
        (pl.col("distiller_id") == 0, "no Distiller id"),
        (pl.col("foreign"), "its UUID is that of another take"),
        (pl.col("suffix").is_not_null(), pl.format("derived file: {}", "suffix")),
        (scans.IS_UNDECIDED, scans.UNDECIDED),
        (pl.col("duration_s") < 0, "written before the first receiver time"),
        # if nothing was written, the write time of the scan is unknown
        (pl.col("size_bytes") == 0, "the HDF5 file has 0 bytes"),
    ).alias("excluded")

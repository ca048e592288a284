"""Scans that were lost, failed or have gaps.

A scan is lost if the study lists it for a method and no file of this method exists. It failed if
its receivers did not finish, or a file is empty or older than the scan. It has a gap if some
receivers or modules left nothing, although others of the scan did, and they did for other scans. If
the study has no ranges, missing numbers between scans are also gaps.
"""

from typing import Any

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import count_if_known, first_text

from ..rules import NOTHING
from ..study import Study, load_study
from . import streaming
from .declared import FAILED_COLUMNS
from .offload import written
from .scans import BEGINS_UNKNOWN, in_ranges, number_of_files, within

_KEY = ("scan_number", "take")


def build(dataset: DatasetReader, study: Any = None, show: str = "failed") -> pl.LazyFrame:
    """Build one row per lost, failed or incomplete take; with ``show="all"``, one per take.

    study: path of the study's TOML, or a Study; its ranges define the expected files and scan
        numbers.
    """
    made = load_study(study)
    found = _problems(_methods(_files(dataset, made), made))
    if show == "failed":
        found = found.filter(pl.col("fate").is_not_null())
    ordered = found.sort(*_KEY, nulls_last=True)
    return ordered.select(column.name for column in FAILED_COLUMNS)


def _files(dataset: DatasetReader, study: Study) -> pl.LazyFrame:
    """Join takes to their files, and add the scan numbers without any data."""
    takes = written(dataset)
    streamed = streaming.build(dataset).filter(pl.col("write_time").is_not_null())
    h5 = streamed.group_by(_KEY).agg(
        pl.len().cast(pl.Int64).alias("h5_files"),
        pl.col("write_time", "duration_s").min(),
        count_if_known(pl.col("size_bytes") == 0).alias("empty h5 files"),
    )
    there = takes.join(h5, on=_KEY, how="full", coalesce=True)
    gaps = [] if study.ranges else [_number_gaps(there)]
    there = there.with_columns(pl.lit(None, pl.Int64).alias("numbers"))
    numbers = _numbers(study).join(
        there.select("scan_number", pl.lit(value=True).alias("there")).unique(),
        on="scan_number",
        how="left",
    )
    # do not report ranges that were not harvested at all
    harvested = pl.col("there").any().over("first", "method")
    absent = numbers.filter(pl.col("there").is_null() & harvested.fill_null(value=False))
    together = pl.concat([there, absent.select("scan_number").unique(), *gaps], how="diagonal")
    return together.with_columns(
        pl.col("numbers").fill_null(1),
        gap=pl.col("numbers").is_not_null(),
        data_files=number_of_files("data_files"),
        h5_files=number_of_files("h5_files"),
    )


def _number_gaps(there: pl.LazyFrame) -> pl.LazyFrame:
    """Find runs of missing scan numbers between existing ones: a row per gap."""
    number = pl.col("scan_number")
    before = number.shift(1)
    return (
        there.select("scan_number")
        .filter(number != 0)
        .unique()
        .sort("scan_number")
        .select(scan_number=before + 1, numbers=number - before - 1)
        .filter(pl.col("numbers") > 0)
    )


def _numbers(study: Study) -> pl.LazyFrame:
    ranges = [(r.first, r.last, r.method) for r in study.ranges]
    schema = {"first": pl.Int64, "last": pl.Int64, "method": pl.String}
    return (
        pl.LazyFrame(ranges, schema, orient="row")
        .with_columns(pl.int_ranges("first", pl.col("last") + 1).alias("scan_number"))
        .explode("scan_number")
        .filter(pl.col("scan_number") != 0)
    )


def _methods(found: pl.LazyFrame, study: Study) -> pl.LazyFrame:
    """Add the method and size of each scan, and whether files of the method are missing."""
    for method in ("file_transfer", "streaming"):
        placed = in_ranges(found, study, method)
        found = placed.drop("first_scan", "last_scan").rename({"size": f"size {method}"})
    streamed, transferred = within(study, "streaming"), within(study, "file_transfer")
    lacks_h5 = streamed & (pl.col("h5_files") == 0)
    lacks_data = transferred & (pl.col("data_files") == 0)
    real = pl.col("scan_number") != 0
    return (
        found.with_columns(
            size=pl.coalesce("size streaming", "size file_transfer"),
            method=first_text(
                (streamed & transferred, "both"),
                (streamed, "streaming"),
                (transferred, "file_transfer"),
            ),
            lost=pl.when(real & (streamed | transferred)).then(lacks_h5 | lacks_data),
        )
        .with_columns(
            missing=first_text(
                (pl.col("lost") & pl.col("take").is_null(), NOTHING),
                (pl.col("lost") & lacks_h5 & lacks_data, "no HDF5 file, no data file"),
                (pl.col("lost") & lacks_h5, "no HDF5 file"),
                (pl.col("lost"), "no data file"),
            )
        )
        .with_columns(pl.col("lost").count().over("method").cast(pl.Int64).alias("n_method"))
    )


def _problems(found: pl.LazyFrame) -> pl.LazyFrame:
    empty = pl.sum_horizontal("empty_files", "empty h5 files")
    known = pl.col("empty_files").is_not_null() | pl.col("empty h5 files").is_not_null()
    files = pl.sum_horizontal("data_files", "h5_files")
    percent = pl.col("progress").round(1).cast(pl.String).str.strip_suffix(".0")
    failed = (
        pl.when(pl.col("progress") < 100).then(pl.format("progress is {} %", percent)),
        pl.when(pl.col("empty_files") > 0).then(
            pl.format("files of 0 bytes: {} of {}", "empty_files", files)
        ),
        pl.when("early").then(pl.lit("a file is older than the first receiver time")),
        BEGINS_UNKNOWN,
    )
    gapped = (
        _short_of("receivers", "status of {} of {} receivers"),
        _short_of("modules", "data of {} of {} modules"),
        pl.when("gap").then(pl.lit(f"{NOTHING}: a gap in the numbers")),
    )
    real = pl.col("scan_number") != 0
    fate = first_text(
        (pl.col("lost"), "lost"),
        (pl.coalesce(failed).is_not_null(), "failed"),
        (pl.coalesce(gapped).is_not_null(), "gapped"),
    )
    problem = pl.concat_str("missing", *failed, *gapped, separator="; ", ignore_nulls=True)
    return found.with_columns(
        pl.when(known).then(empty).alias("empty_files"),
        (pl.min_horizontal("offload_s", "duration_s") < 0).alias("early"),
    ).with_columns(
        pl.when(real).then(problem).replace("", None).alias("problem"),
        pl.when(real).then(fate).alias("fate"),
    )


def _short_of(column: str, text: str) -> pl.Expr:
    """Describe scans for which fewer receivers, or modules, left data than usual."""
    usual = pl.col(column).filter(pl.col("scan_number") != 0).max()
    some = (pl.col(column) > 0) & (pl.col(column) < usual)
    return pl.when(some).then(pl.format(text, column, usual))

"""Durations of file transfer: a Slurm job per scan, joined to the rows of Distiller.

    duration_s = elapsed_s + offload_s - save_correction_s

elapsed_s is Slurm's. offload_s is the mean offload of the scan size; without it the duration is
unknown (a study without offload sets ``offload = "0s"``). save_correction_s is subtracted: twice
the difference between saving a real and a blank scan, which the study may give per size.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import seconds_in_words
from harvest_toolkit.frames import first_text, fraction

from ..study import Study, load_study
from .offload import means
from .scans import duration, rows_of, volume

JOB_COLUMNS = (
    *("name", "user", "qos", "state", "exit_code", "exit_signal", "req_nodes"),
    *("submit_time", "start_time", "end_time", "elapsed_s", "timelimit_s"),
)


def build(
    dataset: DatasetReader,
    study: Any = None,
    max_elapsed: str | None = None,
    save_correction: bool = True,
) -> pl.LazyFrame:
    """Build one row per pair of a Slurm job and a row of Distiller, and per row without a partner.

    study: path of the study's TOML, or a Study; max_elapsed: text such as ``29m``.
    Jobs that Distiller does not have are listed if they pass the study's job filters.
    """
    made = load_study(study)
    limit = made.max_elapsed_s
    if max_elapsed is not None:
        limit = duration("max_elapsed", max_elapsed, "29m")
    given = made.sizes if save_correction else {}
    corrections = {name: size.save_correction_s for name, size in given.items()}
    jobs, rows = _jobs(dataset, made.jobs), _distiller(dataset)
    joined = jobs.join(rows, left_on="job_id", right_on="slurm_id", how="full", coalesce=False)
    return (
        joined.filter(pl.col("known") | pl.col("refused").is_null())
        .join(_offload(dataset, made), on="size", how="left")
        .with_columns(_by_size(corrections), volume(made))
        .with_columns(
            # null without a size, since then the correction is null
            duration_s=pl.col("elapsed_s") + pl.col("offload_s") - pl.col("save_correction_s"),
            excluded=_exclusion(made, limit),
        )
        .with_columns(bytes_per_s=fraction(pl.col("data_gb") * 1e9, "duration_s"))
        .select(
            pl.coalesce("job_id", "slurm_id").alias("job_id"),
            *(*JOB_COLUMNS, "scan_id", "size", "data_gb", "distiller_elapsed_s"),
            *("offload_s", "save_correction_s", "duration_s", "bytes_per_s", "excluded"),
        )
        .sort(
            *("job_id", "scan_id", "submit_time", pl.exclude("excluded")),
            pl.col("excluded").fill_null(""),
            nulls_last=True,
        )
    )


def _jobs(dataset: DatasetReader, wanted: Mapping[str, Any]) -> pl.LazyFrame:
    """Select jobs by number, with the reason if they lack what the study wants."""
    right: dict[str, pl.Expr] = {}
    if "name_contains" in wanted:
        right["name"] = pl.col("name").str.contains(wanted["name_contains"], literal=True)
    if "qos_contains" in wanted:
        right["QOS"] = pl.col("qos").str.contains(wanted["qos_contains"], literal=True)
    if "req_nodes" in wanted:
        right["requested nodes"] = pl.col("req_nodes") == wanted["req_nodes"]
    if "exit_code" in wanted:
        right["exit code"] = pl.col("exit_code") == wanted["exit_code"]
        if wanted["exit_code"] == 0:
            right["exit code"] &= pl.col("exit_signal").fill_null(0) == 0
    refused = pl.coalesce(
        pl.lit(None, pl.String),
        # a filter that certainly excludes a job decides, even if other filters lack values
        *(pl.when(~passes).then(pl.lit(what)) for what, passes in right.items()),
        *(
            pl.when(passes.is_null()).then(pl.lit(f"{what}, which is unknown"))
            for what, passes in right.items()
        ),
    )
    return (
        rows_of(dataset, "slurm.job", "slurm")
        .select(
            *JOB_COLUMNS,
            # parts of arrays and het jobs have a number of their own in addition to 123_4 and 123+0
            job_id=pl.coalesce(
                pl.col("job_id").cast(pl.String).cast(pl.Int64, strict=False),
                pl.col("job_id_raw").cast(pl.Int64),
            ),
        )
        .with_columns(refused=refused)
        # a requeued job, or one from two dumps, has several rows: use the last one
        .sort("submit_time", "start_time", nulls_last=False, maintain_order=True)
        .with_columns(earlier=pl.int_range(pl.len()).over("job_id") < pl.len().over("job_id") - 1)
    )


def _distiller(dataset: DatasetReader) -> pl.LazyFrame:
    same = ["scan_id", "slurm_id", "scan_size"]
    return (
        rows_of(dataset, "distiller.job", "distiller")
        .select(*same, distiller_elapsed_s="elapsed_s")
        .with_columns(
            repeated=(pl.int_range(pl.len()).over(same) > 0) & pl.col("slurm_id").is_not_null(),
            known=pl.lit(value=True),
        )
        .rename({"scan_size": "size"})
    )


def _offload(dataset: DatasetReader, study: Study) -> pl.LazyFrame:
    offloads = {name: size.offload_s for name, size in study.sizes.items()}
    given = {name: value for name, value in offloads.items() if value is not None}
    schema = {"size": pl.String, "offload_s": pl.Float64}
    fixed = pl.LazyFrame(list(given.items()), schema, orient="row")
    if not any(r.method == "file_transfer" for r in study.ranges):
        return fixed
    measured = means(dataset, study).filter(~pl.col("size").is_in(list(given)))
    return pl.concat([fixed, measured])


def _by_size(values: dict[str, float]) -> pl.Expr:
    """Return a size's correction: 0 if the study gives none, null if the size is unknown."""
    found = pl.col("size").replace_strict(values, default=0.0, return_dtype=pl.Float64)
    return pl.when(pl.col("size").is_not_null()).then(found).alias("save_correction_s")


def _exclusion(study: Study, limit: float | None) -> pl.Expr:
    size, elapsed, started = pl.col("size"), pl.col("elapsed_s"), pl.col("start_time").is_not_null()
    sizes = {r.size for r in study.ranges} | set(study.sizes)
    awaited = {r.size for r in study.ranges if r.method == "file_transfer"}
    distiller = pl.col("distiller_elapsed_s")
    missing = pl.lit(study.missing_elapsed == "exclude") & distiller.is_null()
    limits: tuple[tuple[pl.Expr, str], ...] = ()
    if limit is not None:
        longer = f"elapsed longer than {seconds_in_words(limit)}"
        limits = (
            (missing, "Distiller knows no elapsed time"),
            (pl.coalesce(distiller, elapsed) > limit, longer),
        )
    no_offload = pl.col("offload_s").is_null()
    return first_text(
        (pl.col("known").is_null(), "unknown to Distiller"),
        (pl.col("slurm_id").is_null(), "no Slurm id in Distiller"),
        (pl.col("job_id").is_null(), "no such job in the accounting"),
        (pl.col("refused").is_not_null(), pl.format("the study's filter on {}", "refused")),
        (pl.col("earlier"), "a later row of this job counts"),
        (pl.col("repeated"), "repeated in Distiller's rows"),
        (elapsed.is_null(), "elapsed time unknown"),
        (~started & (elapsed > 0), "start unknown"),
        (~started, "never started"),
        (size.is_null(), "size unknown"),
        (pl.lit(bool(sizes)) & ~size.is_in(list(sizes)), "size not in the study"),
        *limits,
        (no_offload & size.is_in(list(awaited)), "no offload was measured for this size"),
        (no_offload, "the study gives no offload for this size"),
    )

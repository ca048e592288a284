"""Outliers among durations, and warnings if the rule does not suit the data.

The rule is Tukey's: an outlier is more than 1.5 interquartile ranges below the first quartile or
above the third, within its size and method. A value on a fence is not an outlier. Quartiles are
interpolated linearly between the sorted values, the default of numpy.quantile.

All comparisons use integers, since a sum of floats can miss the fence by a digit. ``measured_us``
is the measured time in microseconds: Slurm's elapsed time, or the time from receiver to file.
``duration_s`` differs from it by a constant per size and method (offload, correction for saving),
which shifts values and fences equally.
"""

from typing import Any

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import first_text

from ..study import Study, load_study
from .declared import OUTLIER_COLUMNS
from .scans import positions

GROUP = ("size", "method")
SCHEMA = {
    **dict.fromkeys(("size", "method"), pl.String),
    **dict.fromkeys(("data_gb", "duration_s"), pl.Float64),
    **dict.fromkeys(("measured_us", "start_step_us", "end_step_us"), pl.Int64),
    "excluded": pl.String,
}
STEPS = (1_000_000, 100_000, 10_000, 1_000, 100, 10)
"""Possible steps of a clock above 1, in microseconds, the coarsest first."""


_LOW_8 = 2 * pl.col("q1_4") - 3 * (pl.col("q3_4") - pl.col("q1_4"))
_HIGH_8 = 2 * pl.col("q3_4") + 3 * (pl.col("q3_4") - pl.col("q1_4"))
"""Eight times the fences: q1 - 3/2 (q3 - q1), and q3 + 3/2 (q3 - q1)."""


def build(
    dataset: DatasetReader,
    study: Any = None,
    max_elapsed: str | None = None,
    save_correction: bool = True,
) -> pl.LazyFrame:
    """Build one row per size and method: quartiles, fences, number of outliers, and a warning.

    study: path of the study's TOML, or a Study; max_elapsed, save_correction: as for the view
        ncem.file_transfer.
    """
    rows = durations(dataset, load_study(study), max_elapsed, save_correction)
    return fences(outliers(rows.filter(pl.col("excluded").is_null()))).lazy()


def durations(
    dataset: DatasetReader, study: Study, max_elapsed: str | None, save_correction: bool
) -> pl.DataFrame:
    """Collect the rows of the views ncem.file_transfer and ncem.streaming, as in SCHEMA.

    excluded: why a row does not count.
    start_step_us, end_step_us: the coarsest clock step of which the row's times are multiples.
    """
    frames = [pl.LazyFrame(schema=SCHEMA)]
    if "slurm.job" in dataset and "distiller.job" in dataset:
        limits = {} if max_elapsed is None else {"max_elapsed": max_elapsed}
        found = dataset.view(
            "ncem.file_transfer", study=study, save_correction=save_correction, **limits
        )
        elapsed = (pl.col("elapsed_s") * 1e6).round().cast(pl.Int64)
        frames.append(
            found.with_columns(
                method=pl.lit("file_transfer"),
                measured_us=elapsed,
                start_step_us=pl.lit(1, pl.Int64),  # an elapsed time has one clock
                end_step_us=_step(elapsed),
            )
        )
    if "ncem.receiver_status" in dataset and "ncem.data_file" in dataset:
        start, end = (pl.col(name).dt.epoch("us") for name in ("first_receiver_time", "write_time"))
        frames.append(
            dataset.view("ncem.streaming", study=study).with_columns(
                method=pl.lit("streaming"),
                measured_us=end - start,
                start_step_us=_step(start),
                end_step_us=_step(end),
            )
        )
    return (
        pl.concat([frame.select(*SCHEMA) for frame in frames])
        .with_columns(
            excluded=first_text(
                (pl.col("excluded").is_not_null(), pl.col("excluded")),
                (pl.col("size").is_null(), "in no scan range: the size is unknown"),
                (pl.col("duration_s").is_null(), "no duration"),
            )
        )
        .collect()
    )


def _step(micros: pl.Expr) -> pl.Expr:
    """Return the coarsest step of which a time is a multiple."""
    step = pl.lit(1, pl.Int64)
    for size in reversed(STEPS):
        step = pl.when(micros % size == 0).then(pl.lit(size, pl.Int64)).otherwise(step)
    return step


def outliers(durations: pl.DataFrame) -> pl.DataFrame:
    """Flag values outside the fences of their size and method, in the column ``outlier``.

    Adds ``q1_4`` and ``q3_4``: the quartiles in microseconds times four, which are integers.
    """
    value_8 = 8 * pl.col("measured_us")
    return durations.with_columns(
        q1_4=_quartile(1).over(GROUP), q3_4=_quartile(3).over(GROUP)
    ).with_columns(outlier=(value_8 < _LOW_8) | (value_8 > _HIGH_8))


def _quartile(number: int) -> pl.Expr:
    """Compute four times a quartile of ``measured_us``, exactly."""
    place_4 = number * (pl.len().cast(pl.Int64) - 1)
    in_order = pl.col("measured_us").sort()
    below, above = in_order.get(place_4 // 4), in_order.get((place_4 + 3) // 4)
    return 4 * below + place_4 % 4 * (above - below)


def fences(marked: pl.DataFrame) -> pl.DataFrame:
    """Build the rows of the view ncem.outliers from rows marked by ``outliers``."""
    step = pl.max_horizontal(pl.col("start_step_us").min(), pl.col("end_step_us").min())
    return (
        marked.group_by(GROUP)
        .agg(
            pl.col("q1_4", "q3_4").first(),
            n=pl.len().cast(pl.Int64),
            n_outliers=pl.col("outlier").sum().cast(pl.Int64),
            # the coarser of the two clocks limits the resolution of a duration
            clock_step_s=step / 1e6,
            common_s=(pl.col("duration_s") - pl.col("measured_us") / 1e6).first(),
        )
        .with_columns(
            first_quartile_s=pl.col("q1_4") / 4e6 + pl.col("common_s"),
            third_quartile_s=pl.col("q3_4") / 4e6 + pl.col("common_s"),
            low_fence_s=_LOW_8 / 8e6 + pl.col("common_s"),
            high_fence_s=_HIGH_8 / 8e6 + pl.col("common_s"),
            spread_s=(pl.col("q3_4") - pl.col("q1_4")) / 4e6,
        )
        .with_columns(warning=_warning())
        .sort(positions(), *GROUP)
        .select(column.name for column in OUTLIER_COLUMNS)
    )


def _warning() -> pl.Expr:
    spread, several = pl.col("spread_s"), pl.col("n") > 1
    share = (pl.col("n_outliers") * 100 / pl.col("n")).round(1)
    return first_text(
        (
            several & (spread == 0) & (pl.col("n_outliers") > 0),
            pl.format(
                "both quartiles are {} s, so the two fences coincide and each value that differs "
                "counts as an outlier: {} of {} values ({} %) are left out, and the standard "
                "deviation of the rest is 0. The clock counts in steps of {} s",
                pl.col("first_quartile_s").round(6),
                *("n_outliers", "n"),
                share,
                "clock_step_s",
            ),
        ),
        (
            several & (spread < pl.col("clock_step_s")),
            pl.format(
                "the quartiles lie {} s apart, which is less than a step of the clock ({} s): "
                "what counts as an outlier, {} of {} values ({} %), depends on how the clock "
                "rounds",
                *("spread_s", "clock_step_s", "n_outliers", "n"),
                share,
            ),
        ),
    )

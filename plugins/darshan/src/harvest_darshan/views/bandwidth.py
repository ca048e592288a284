"""The view ``io.bandwidth``: how fast jobs moved bytes through each layer.

A job's rate is that of Darshan's own estimate (``darshan-parser --perf``, agg_perf_by_slowest): its
bytes over the time of the slowest process in reads, writes and metadata operations of the layer.
"""

from __future__ import annotations

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import complete_sum, fraction, sum_or_none

from .declared.costs import BANDWIDTH_COLUMNS
from .grouping import KEY, certainty, joined, layer_states, number_sessions, over_jobs
from .jobs import OPS, layer_sums
from .layers import LAYERS, Layer, nanoseconds
from .posix_files import process_seconds


@over_jobs(BANDWIDTH_COLUMNS)
def bandwidth(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    """One row per job, or per log, and layer that its logs have."""
    states = layer_states(dataset, logs)
    layers = pl.concat(_of_layer(dataset, logs, states, name) for name in LAYERS)
    # where both may lack a part, their quotient may be too high or too low
    sure = ~pl.col("certainty").list.contains("impossible_value")
    return joined(layers, process_seconds(logs)).with_columns(
        bytes_per_s=fraction("bytes", "slowest_s"),
        **{
            f"{op}_bytes_per_s": pl.when(sure).then(fraction(f"{op}_bytes", f"{op}_s"))
            for op in OPS
        },
    )


def _of_layer(
    dataset: DatasetReader, logs: pl.DataFrame, states: pl.DataFrame, name: str
) -> pl.DataFrame:
    """The jobs that use a layer, with its sums; null where records of a log are not known."""
    layer = LAYERS[name]
    used = states.filter(f"uses_{name}").select(*KEY, known=f"knows_{name}")
    sums = joined(layer_sums(dataset, logs, name), _slowest(dataset, logs, layer))
    figures = [column for column in sums.columns if column not in KEY]
    return joined(used, sums, certainty(dataset, logs, layer.module)).select(
        *KEY,
        pl.lit(layer.module).alias("layer"),
        pl.when("known").then(pl.col(figures)),
        "certainty",
    )


def _slowest(dataset: DatasetReader, logs: pl.DataFrame, layer: Layer) -> pl.DataFrame:
    """Per job, ``slowest_s``: the time of the slowest process, of logs one after another the sum.

    A process spends what its own records say; of files that all ranks share, the slowest rank's
    time is known alone, so that the sum is at least what any of them spent.
    """
    spans = logs.with_columns(
        from_us=pl.col("start_time").dt.epoch("us"),
        to_us=pl.max_horizontal("start_time", "end_time").dt.epoch("us"),
    )
    sessions = number_sessions(spans, KEY).select("origin", "nprocs", "session", *KEY)
    shared = (pl.col("rank") < 0) & (pl.col("nprocs") > 1)
    slowest = nanoseconds(f"{layer.prefix}_F_SLOWEST_RANK_TIME")
    own = layer.spent("read", "write", "meta")
    spent = pl.when(shared).then(slowest).otherwise(own)
    return (
        dataset[layer.record_type]
        .join(sessions.lazy(), on="origin")
        .group_by(*KEY, "session", "origin", pl.when(~shared).then("rank").alias("rank"))
        # all files that ranks share make one group of a log, each rank's own files another
        .agg(shared=shared.first(), spent=complete_sum(spent))
        .group_by(*KEY, "session", "origin")
        .agg(
            together=sum_or_none(pl.col("spent").filter("shared")),
            alone=pl.col("spent").filter(~pl.col("shared")).max(),
            unknown=pl.col("spent").is_null().any(),
        )
        .with_columns(
            spent=pl.when(~pl.col("unknown")).then(
                pl.col("together") + pl.col("alone").fill_null(0)
            )
        )
        .group_by(*KEY, "session")
        .agg(spent=pl.when(pl.col("spent").is_not_null().all()).then(pl.col("spent").max()))
        .group_by(KEY)
        .agg(slowest_s=complete_sum("spent") / 1e9)
        .collect(engine="streaming")
    )

"""Build the views ``io.jobs``, the I/O of each job, and ``io.bandwidth``, its rates.

A job's rate is Darshan's own estimate (``darshan-parser --perf``, agg_perf_by_slowest): bytes per
time of the slowest process in reads, writes and metadata operations of the layer.
"""

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import complete_sum, fraction, known_sum, sum_or_none

from . import grouping
from .declared.jobs import BANDWIDTH_COLUMNS, JOB_COLUMNS
from .grouping import KEY, joined, known
from .layers import FILE, LAYERS, OPS, UNSUMMED, Layer, counted_records, nanoseconds, sum_of, summed
from .posix_files import ALIGNMENTS, by_file, process_seconds, share_of

_COUNTS = ("reads", "writes", "read_bytes", "write_bytes")
_TIMES = ("read", "write", "meta")


@grouping.view_of_jobs(JOB_COLUMNS)
def jobs(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    """Return a row per job, as of ``logs_by_job``: the I/O of its processes in all layers."""
    counted = counted_records(dataset)
    states = grouping.layer_states(dataset, logs)
    mpiio, stdio = (known(layer_sums(dataset, logs, on), states, on) for on in ("mpiio", "stdio"))
    found = joined(
        _totals(logs),
        states,
        grouping.certainty(dataset, logs),
        _counted(counted, logs),
        _beyond(dataset, counted, logs),
        known(_posix(dataset, logs), states, "posix"),
        mpiio.select(*KEY, mpiio_bytes="bytes"),
        stdio.select(*KEY, pl.col("bytes", "requests", "seconds").name.prefix("stdio_")),
    )
    summed = ("bytes", "requests", "counted_s", "meta_s")
    return (
        found.with_columns(
            # an incomplete sum is unknown
            pl.when("summed").then(pl.col(summed)),
            beyond_s=pl.when("uses_mpiio").then("beyond_s").otherwise(0),
        )
        .with_columns(io_s=pl.col("counted_s") + pl.col("beyond_s"), stdio_s="stdio_seconds")
        .with_columns(
            share_of(pl.col(part)).alias(share)
            for part, share in (
                ("io_s", "time_share"), ("meta_s", "meta_share"),
                ("stdio_s", "stdio_share"), ("posix_s", "posix_share"),
            )
        )
    )  # fmt: skip


def _counted(counted: dict[str, pl.LazyFrame], logs: pl.DataFrame) -> pl.DataFrame:
    """Sum all layers by job, each byte counted once."""
    rows = [
        frame.join(logs.select("origin", *KEY).lazy(), on="origin").select(
            *KEY,
            **{f"{op}_bytes": LAYERS[name].moved(op) for op in OPS},
            **{f"{op}s": LAYERS[name].requests(op) for op in OPS},
            **{f"{what}_s": LAYERS[name].spent(what) for what in _TIMES},
            timed=pl.all_horizontal(
                pl.col(LAYERS[name].timer(what)).is_not_null() for what in _TIMES
            ),
        )
        for name, frame in counted.items()
    ]
    return (
        pl.concat(rows)
        .group_by(KEY)
        .agg(sum_or_none(pl.exclude(*KEY, "timed")), pl.col("timed").all())
        # a time that is not recorded is unknown; certainty names an impossible one
        .with_columns(
            pl.when("timed").then(pl.col(f"{what}_s")).alias(f"{what}_s") for what in _TIMES
        )
        .select(
            *KEY,
            # reads and writes are summed apart: if one is unknown in a record, the other counts
            bytes=sum_of("read_bytes", "write_bytes"),
            requests=sum_of("reads", "writes"),
            meta_s=pl.col("meta_s") / 1e9,
            counted_s=sum_of(*(f"{what}_s" for what in _TIMES)) / 1e9,
        )
        .collect(engine="streaming")
    )


def _beyond(
    dataset: DatasetReader, counted: dict[str, pl.LazyFrame], logs: pl.DataFrame
) -> pl.DataFrame:
    """Return the time in MPI-IO beyond that in the layer it calls: waiting for ranks, copying.

    This layer is POSIX, compared file by file, or DFS, compared for all files of a log together.
    """

    def spent(frame: pl.LazyFrame, layer: str, by: tuple[str, ...]) -> pl.LazyFrame:
        whole = LAYERS[layer].spent(*_TIMES)
        return frame.group_by(by).agg(spent=sum_or_none(whole), below=pl.lit(value=True))

    mpiio = spent(dataset["darshan.mpiio"], "mpiio", FILE).drop("below")
    posix = spent(counted["posix"], "posix", FILE)
    dfs = spent(counted.get("dfs", dataset["darshan.dfs"]), "dfs", ("origin",))
    # if the time below is unknown, none is known to be beyond it
    own = (pl.col("spent") - pl.coalesce("spent_right", "spent")).clip(lower_bound=0)
    # without a layer below, the time is already counted
    beyond = pl.when("below").then(own).otherwise(0)
    on_posix = mpiio.join(posix, on=FILE, how="left").select("origin", beyond=beyond)
    on_dfs = (
        mpiio.join(posix, on=FILE, how="anti")
        .group_by("origin")
        .agg(spent=sum_or_none("spent"))
        .join(dfs, on="origin")
        .select("origin", beyond=own)
    )
    return (
        pl.concat([on_posix, on_dfs])
        .join(logs.select("origin", *KEY).lazy(), on="origin")
        .group_by(KEY)
        .agg(beyond_s=sum_or_none("beyond") / 1e9)
        .collect(engine="streaming")
    )


def _totals(logs: pl.DataFrame) -> pl.DataFrame:
    def modules(column: str) -> pl.Expr:
        return pl.col(column).explode().drop_nulls().unique().sort()

    ran = pl.col("run_time_s")
    ends = pl.col("start_time") + pl.duration(microseconds=(ran * 1e6).round())
    wall = (ends.max() - pl.col("start_time").min()).dt.total_microseconds() / 1e6
    sums = logs.group_by(KEY).agg(
        exe=grouping.EXE_OF_JOB,
        uid=pl.col("uid").first(),
        wall_s=pl.when(ran.is_not_null().all()).then(wall),
        copies=complete_sum("copies"),
        unfinished_logs=pl.col("unfinished").sum(),
        modules=modules("modules"),
        partial_modules=modules("partial_modules"),
        unread_modules=modules("unread_modules"),
    )
    lacking = pl.concat_list("partial_modules", "unread_modules")
    unfinished = pl.col("unfinished_logs") > 0
    gaps = (
        _in_words("partial_modules", "cut off"),
        _in_words("unread_modules", "not read"),
        pl.when(unfinished).then(
            pl.format("{} of {} logs not finished", "unfinished_logs", "logs")
        ),
    )
    found = joined(sums, process_seconds(logs)).with_columns(
        gaps=pl.concat_str(gaps, separator="; ", ignore_nulls=True).replace("", None),
        missing_counters=unfinished
        | lacking.list.eval(~pl.element().str.starts_with("DXT")).list.any(),
        unsummed_modules=pl.col("modules").list.set_intersection(list(UNSUMMED)).list.sort(),
    )
    return found.rename({"nprocs": "processes"})


def _in_words(modules: str, what: str) -> pl.Expr:
    """Format ``POSIX, STDIO cut off``; null without modules."""
    named = pl.format("{} {}", pl.col(modules).list.join(", "), pl.lit(what))
    return pl.when(pl.col(modules).list.len() > 0).then(named)


def _posix(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    by_meta = pl.col("file").sort_by(
        "slowest_meta_s", "file", descending=[True, False], nulls_last=True
    )
    return (
        by_file(dataset, logs)
        .group_by(KEY)
        .agg(
            *(sum_or_none(name).alias(name) for name in _COUNTS),
            *(known_sum(name).alias(name) for name in ALIGNMENTS),
            pl.col("slowest_meta_s").max(),
            posix_s=summed(sum_of("read_s", "write_s", "meta_s")),
            files=pl.len(),
            slowest_meta_file=by_meta.first(),
        )
        .collect(engine="streaming")
    )


def layer_sums(dataset: DatasetReader, logs: pl.DataFrame, name: str) -> pl.DataFrame:
    """Sum the records of a layer by job (:data:`KEY`).

    Columns: files, bytes, read_bytes, write_bytes, requests, read_s, write_s, meta_s, seconds.
    """
    layer = LAYERS[name]
    return (
        dataset[layer.record_type]
        .join(logs.select("origin", *KEY).lazy(), on="origin", how="inner")
        .group_by(KEY)
        .agg(
            files=pl.col("record_id").n_unique(),
            read_bytes=sum_or_none(layer.moved("read")),
            write_bytes=sum_or_none(layer.moved("write")),
            requests=sum_or_none(layer.requests("read") + layer.requests("write")),
            **{f"{what}_s": sum_or_none(layer.spent(what)) for what in _TIMES},
        )
        .with_columns(
            bytes=sum_of("read_bytes", "write_bytes"),
            seconds=sum_of(*(f"{what}_s" for what in _TIMES)),
        )
        .with_columns(pl.col("seconds", *(f"{what}_s" for what in _TIMES)) / 1e9)
        .collect(engine="streaming")
    )


@grouping.view_of_jobs(BANDWIDTH_COLUMNS)
def bandwidth(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    """Return a row per job, or per log, and layer."""
    states = grouping.layer_states(dataset, logs)
    used = [name for name in LAYERS if states[f"uses_{name}"].any()] or ["posix"]
    layers = pl.concat(_of_layer(dataset, logs, states, name) for name in used)
    # if both lack a part, the quotient may be too high or too low
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
    """Return the jobs that use a layer, with its sums; null if a log's records were not read."""
    layer = LAYERS[name]
    used = states.filter(f"uses_{name}").select(*KEY, layer=pl.lit(layer.module))
    sums = joined(layer_sums(dataset, logs, name), _slowest(dataset, logs, layer))
    return joined(used, known(sums, states, name), grouping.certainty(dataset, logs, layer.module))


def _slowest(dataset: DatasetReader, logs: pl.DataFrame, layer: Layer) -> pl.DataFrame:
    """Return ``slowest_s`` by job: the time of its slowest process, summed over its sessions.

    This is the slowest rank of each shared file, whose record has no other rank's time, plus the
    slowest process in all other files. So it is at least the time of any process.
    """
    sessions = grouping.number_sessions(logs, KEY).select("origin", "nprocs", "session", *KEY)
    shared = (pl.col("rank") < 0) & (pl.col("nprocs") > 1)
    slowest = nanoseconds(f"{layer.prefix}_F_SLOWEST_RANK_TIME")
    spent = pl.when(shared).then(slowest).otherwise(layer.spent("read", "write", "meta"))
    return (
        dataset[layer.record_type]
        .join(sessions.lazy(), on="origin")
        .group_by(*KEY, "session", "origin", pl.when(~shared).then("rank").alias("rank"))
        # the files that ranks share are one group of a log, the own files of each rank another
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

"""Build the view ``io.files``: processes, bytes and order of access of each file."""

from itertools import pairwise

import polars as pl

from harvest import DatasetReader, UsageError
from harvest.model.frames import types_of
from harvest_toolkit.frames import deferred, fraction, known_sum, possible, safe_sum, sum_or_none

from ..counters import SIZES
from . import layers
from .declared.files import FILE_COLUMNS
from .grouping import UNFINISHED, named_run, once
from .layers import FILE, LAYERS, run_of

_LIMITS = (
    *(-1, 100, 2**10, 10 * 2**10, 100 * 2**10, 2**20),
    *(4 * 2**20, 10 * 2**20, 100 * 2**20, 2**30, 2**63 - 1),
)
"""Limits of the bins in bytes: each bin includes its upper limit."""


def files(dataset: DatasetReader, *, run: str | None = None) -> pl.LazyFrame:
    """Return a row per run and file with counters or a trace, most bytes first.

    Within a log, the numbers of a file come from the first of DXT_POSIX, DXT_MPIIO, POSIX and
    MPI-IO that has the file, since these count the same bytes. STDIO (buffered I/O) is added, as
    nothing else counts it. So are DFS or DAOS; in their logs MPI-IO does not count. HDF5 datasets
    or PnetCDF variables are the rows of logs with none of these.
    """
    wanted = named_run(dataset, run)
    return deferred(lambda: _files(once(dataset, wanted)), types_of(FILE_COLUMNS))


def _files(dataset: DatasetReader) -> pl.DataFrame:
    # in logs of DAOS, its counters include MPI-IO
    on_daos = layers.ORIGIN.is_in(layers.of_daos(dataset).collect()["origin"].to_list())
    traced = traced_files(dataset).filter(~((pl.col("module") == "DXT_MPIIO") & on_daos))
    counted = counter_rows(dataset)
    as_traced = pl.col("module").is_in([LAYERS["posix"].module, LAYERS["mpiio"].module])
    untraced = counted.filter(as_traced).join(traced, on=FILE, how="anti")
    rows = pl.concat([traced, counted.filter(~as_traced), untraced], how="diagonal")
    jobs = dataset["darshan.job"]
    cut = jobs.select("origin", "partial_modules", unfinished=UNFINISHED).collect()
    used = rows.join(cut, on="origin", how="left").with_columns(
        run=run_of(),
        part=pl.col("part")
        | pl.col("unfinished")
        | pl.col("module").is_in("partial_modules").fill_null(value=False),
    )
    one = ["run", "record_id"]
    sums = used.group_by(one).agg(**_figures())
    short = pl.col("part") | pl.col("meta_part").fill_null(value=False)
    return (
        sums.with_columns(
            sequential_share=fraction("sequential", "ordered"),
            sizes=pl.when("sized").then(
                pl.concat_list(
                    pl.struct(pl.lit(name).alias("size"), reads=f"r_{name}", writes=f"w_{name}")
                    for name in SIZES
                )
            ),
        )
        .join(_count_untraced(counted, traced), on=one, how="left")
        .join(metadata_seconds(dataset), on=one, how="left")
        .join(_tasks(dataset, sums), on=one, how="left")
        .with_columns(certainty=pl.concat_list(pl.when(short).then(pl.lit("lower_bound"))))
        .with_columns(pl.col("certainty").list.drop_nulls())
        .sort(
            *("run", pl.col("read_bytes") + pl.col("write_bytes"), "file", "record_id"),
            descending=[False, True, False, False],
            nulls_last=True,
        )
    )


def _figures() -> dict[str, pl.Expr]:
    figures = {
        "file": pl.col("path").max(),
        "basis": pl.col("module").unique().sort(),
        "operations": layers.at_least(pl.col("count")),
        "sequential": safe_sum("sequential"),
        "ordered": safe_sum(pl.col("count").filter(pl.col("sequential").is_not_null())),
        "sized": pl.col(SIZES[0]).is_not_null().any(),
        "part": pl.col("part").any(),
    }
    # buffered I/O is never counted by size
    sized = pl.col("module") != LAYERS["stdio"].module
    for op, users in (("read", "readers"), ("write", "writers")):
        mine = pl.col("op") == op
        did = mine & (pl.col("count") > 0)
        hidden = (did & (pl.col("rank") < 0)).any() | (mine & pl.col("count").is_null()).any()
        figures |= {
            users: pl.when(~hidden).then(pl.struct("origin", "rank").filter(did).n_unique()),
            f"{op}_bytes": sum_or_none(pl.col("bytes").filter(mine)),
            f"{op}s": sum_or_none(pl.col("count").filter(mine)),
            f"{op}_s": sum_or_none(pl.col("nanoseconds").filter(mine)) / 1e9,
            **{f"{op[0]}_{name}": sum_or_none(pl.col(name).filter(sized & mine)) for name in SIZES},
        }
    return figures


def traced_files(dataset: DatasetReader) -> pl.DataFrame:
    """Sum the trace by log, process, file, module and op."""
    size = pl.col("length")
    end = pl.col("offset") + possible(size)
    # a log has the operations of a process on a file one after the other, numbered from 0
    one = ("origin", "record_id", "rank", "module", "op")
    follows = pl.all_horizontal(
        pl.col("segment") == pl.col("segment").shift(1) + 1, pl.col(one) == pl.col(one).shift(1)
    )
    sizes = {
        name: size.is_between(least, most, closed="right")
        for name, (least, most) in zip(SIZES, pairwise(_LIMITS), strict=True)
    }
    trace = dataset[layers.SEGMENTS].select(
        *(*one, "path", "length"),
        spent=layers.SPENT_NS,
        sequential=(follows & (pl.col("offset") >= end.shift(1))).fill_null(value=False),
        placed=pl.col("offset").is_not_null(),
    )
    return (
        trace.group_by(one)
        .agg(
            path=pl.col("path").max(),
            count=pl.len().cast(pl.Int128),
            bytes=known_sum(possible(size)),
            nanoseconds=known_sum("spent").cast(pl.Int128),
            sequential=pl.when(pl.col("placed").all()).then(
                pl.col("sequential").sum().cast(pl.Int128)
            ),
            part=((size < 0) | pl.col("spent").is_null()).any(),
            **{name: fits.sum().cast(pl.Int128) for name, fits in sizes.items()},
        )
        .pipe(layers.traced_once)
        .collect(engine="streaming")
    )


def _count_untraced(counted: pl.DataFrame, traced: pl.DataFrame) -> pl.DataFrame:
    seen = traced.filter(module="DXT_POSIX").group_by(FILE).agg(seen=pl.col("count").sum())
    return (
        counted.filter(module="POSIX")
        .group_by(FILE)
        .agg(counted=layers.at_least(pl.col("count")))
        .join(seen, on=FILE)
        .with_columns(untraced=(pl.col("counted") - pl.col("seen")).clip(lower_bound=0))
        .group_by("record_id", run=run_of())
        .agg(untraced_operations=sum_or_none("untraced"))
    )


def _tasks(dataset: DatasetReader, sums: pl.DataFrame) -> pl.DataFrame:
    """Count the Dask tasks that used each file; a row for every file of a Dask run."""
    none = pl.DataFrame(schema={"run": pl.String, "record_id": pl.UInt64, "tasks": pl.Int64})
    if layers.SEGMENTS not in dataset or "dask.task_transition" not in dataset:
        return none
    try:
        used = dataset.view("dask.task_io")
    except UsageError:  # the plugin that reads Dask runs is not installed or is disabled
        return none
    runs = dataset["dask.task_transition"].select(run_of()).unique().collect()[:, 0].to_list()
    below = [
        run for run in sums["run"].unique() if any(f"{run}/".startswith(f"{r}/") for r in runs)
    ]
    tasks = (
        used.filter(pl.col("key").is_not_null())
        .select("key", "record_id", dask="run", run=run_of("log"))
        .unique()
        .group_by("run", "record_id")
        .agg(tasks=pl.len().cast(pl.Int64))
        .collect(engine="streaming")
    )
    return (
        sums.select("run", "record_id")
        .filter(pl.col("run").is_in(below))
        .join(tasks, on=["run", "record_id"], how="left")
        .with_columns(pl.col("tasks").fill_null(0))
    )


def counter_rows(dataset: DatasetReader) -> pl.DataFrame:
    """Return the counters that together count each byte once.

    Columns: origin, record_id, rank (-1: all processes), module, op, path, count, bytes,
    nanoseconds, sequential (null: unknown), part (whether an impossible number is left out),
    and a column per size bin (null: unknown).
    """
    rows = [
        _of_op(LAYERS[name], frame, op)
        for name, frame in layers.counted_records(dataset).items()
        for op in ("read", "write")
    ]
    return pl.concat(rows).collect()


def _of_op(layer: layers.Layer, frame: pl.LazyFrame, op: str) -> pl.LazyFrame:
    def size(name: str) -> pl.Expr:
        if layer.sizes is None:
            return pl.lit(None, dtype=pl.Int128).alias(name)
        return possible(f"{layer.prefix}_SIZE_{op.upper()}_{layer.sizes}{name}").alias(name)

    sequential = pl.lit(None, dtype=pl.Int128)
    if layer.prefix == "POSIX":  # no other module counts them
        sequential = possible(f"POSIX_SEQ_{op.upper()}S")
    known = {"count": layer.requests(op), "bytes": layer.moved(op), "nanoseconds": layer.spent(op)}
    return frame.select(
        *("origin", "record_id", "rank", "path"),
        *[size(name) for name in SIZES],
        module=pl.lit(layer.module),
        op=pl.lit(op),
        **known,
        sequential=sequential,
        part=pl.any_horizontal(value.is_null() for value in known.values())
        | (pl.col(f"{layer.prefix}_F_{op.upper()}_TIME") < 0),
    )


def metadata_seconds(dataset: DatasetReader) -> pl.DataFrame:
    """Sum the time in metadata operations by run and record_id, of records whose bytes count.

    meta_part: whether an impossible time is left out.
    """
    rows = [
        frame.select(*("origin", "record_id"), spent=LAYERS[name].spent("meta"))
        for name, frame in layers.counted_records(dataset).items()
    ]
    return (
        pl.concat(rows)
        .group_by("record_id", run=run_of())
        .agg(meta_s=known_sum("spent") / 1e9, meta_part=pl.col("spent").is_null().any())
        .collect(engine="streaming")
    )

"""The modules of a log that count bytes, and those that together count each byte once.

What a program does through one layer reaches the file through those below it: HDF5 and PnetCDF
call MPI-IO or POSIX, MPI-IO calls POSIX or DFS, and DFS calls DAOS.  STDIO is next to POSIX.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import attrs
import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import directory_of, possible, safe_sum, whole_nanoseconds

from ..counters import COUNTS, TIMES, words

SEGMENTS: Final = "darshan.dxt_segment"

ORIGIN: Final = pl.col("origin").cast(pl.String)
"""The path of a log, comparable with those of other frames."""

FILE: Final = ("origin", "record_id")
"""The key of a file of a log."""


def run_of(log: str = "origin") -> pl.Expr:
    """The run of a log: its directory, which the logs of one run share."""
    return directory_of(pl.col(log))


def of_run(frame: pl.LazyFrame, run: str | None) -> pl.LazyFrame:
    """The rows of one run, which is a directory of logs."""
    return frame if run is None else frame.filter(run_of() == run)


def spent_ns() -> pl.Expr:
    """Nanoseconds of a traced operation, whole, so that sums do not depend on the order of rows.

    Null where no operation can have such times, as where it ends before it begins.
    """
    spent = whole_nanoseconds(pl.col("end_s") - pl.col("start_s"))
    return pl.when(spent >= 0).then(spent)


def traced_once(trace: pl.LazyFrame) -> pl.LazyFrame:
    """The trace without operations on bytes that others already have.

    What a process does to a file through MPI-IO reaches it through POSIX.  Where a log traces a
    file in DXT_POSIX, its DXT_MPIIO operations on that file are left out.
    """
    posix = trace.filter(pl.col("module") == "DXT_POSIX")
    other = trace.filter(pl.col("module") != "DXT_POSIX")
    return pl.concat([posix, other.join(posix.select(FILE).unique(), on=FILE, how="anti")])


@attrs.frozen
class Layer:
    """A module whose records count bytes, operations and times, one for a file or an object.

    module: its name in a log.
    reads, writes: the counters, without the prefix, that make up its operations.
    sizes: what its counters of sizes begin with, behind the op; None where it has none.
    """

    module: str
    reads: tuple[str, ...] = ("READS",)
    writes: tuple[str, ...] = ("WRITES",)
    sizes: str | None = ""

    @property
    def prefix(self) -> str:
        """Prefix of its counters."""
        return self.module.replace("-", "")

    @property
    def record_type(self) -> str:
        """Record type of its records."""
        return f"darshan.{self.prefix.lower()}"

    def requests(self, op: str) -> pl.Expr:
        """Number of operations of a record; null where one kind is unknown."""
        names = self.reads if op == "read" else self.writes
        return sum_of(*(possible(f"{self.prefix}_{name}") for name in names))

    def moved(self, op: str) -> pl.Expr:
        """Bytes of a record."""
        return possible(f"{self.prefix}_BYTES_{'READ' if op == 'read' else 'WRITTEN'}")

    def spent(self, *what: str) -> pl.Expr:
        """Nanoseconds of a record in ``read``, ``write`` or ``meta``, over all its processes."""
        return sum_of(*(nanoseconds(f"{self.prefix}_F_{word.upper()}_TIME") for word in what))

    def impossible(self, records: pl.LazyFrame) -> pl.LazyFrame:
        """Logs (origin) and their counters with impossible values.

        ``below_zero`` in the place of a counter: a time is, which then counts as 0.
        """
        names = [name for name in records.collect_schema() if name.startswith(f"{self.prefix}_")]
        times = [name for name in names if TIMES.search(name)]
        wrong = {name: pl.col(name) < 0 for name in names if COUNTS.search(name)}
        wrong |= {t: pl.col(t).is_not_null() & nanoseconds(t).is_null() for t in times}
        wrong["below_zero"] = pl.any_horizontal(pl.col(time) < 0 for time in times)
        return (
            records.filter(pl.any_horizontal(wrong.values()))
            .select(ORIGIN, **wrong)
            .unpivot(index="origin", variable_name="counter")
            .filter("value")
            .select("origin", "counter")
            .unique()
        )


LAYERS: Final = {
    "posix": Layer("POSIX"),
    "mpiio": Layer(
        "MPI-IO",
        words("INDEP_READS COLL_READS SPLIT_READS NB_READS"),
        words("INDEP_WRITES COLL_WRITES SPLIT_WRITES NB_WRITES"),
        "AGG_",
    ),
    "stdio": Layer("STDIO", sizes=None),
    # non-blocking operations are among these (darshan-dfs-log-format.h)
    "dfs": Layer("DFS", ("READS", "READXS"), ("WRITES", "WRITEXS")),
    "daos": Layer(
        "DAOS",
        words("OBJ_FETCHES ARRAY_READS KV_GETS"),
        words("OBJ_UPDATES ARRAY_WRITES KV_PUTS"),
    ),
    "h5d": Layer("H5D", sizes="AGG_"),
    "pnetcdf_var": Layer(
        "PNETCDF_VAR",
        words("INDEP_READS COLL_READS NB_READS"),
        words("INDEP_WRITES COLL_WRITES NB_WRITES"),
        "AGG_",
    ),
}
"""Layers that are summed, by a name for columns."""

BASE: Final = ("posix", "mpiio", "stdio", "dfs", "daos")
"""Layers that count bytes of files; libraries above count only in logs without these."""

UNSUMMED: Final = ("PNETCDF_FILE", "MDHIM")
"""Modules of programs that move bytes, without sums of their own."""


def nanoseconds(timer: str) -> pl.Expr:
    """Whole numbers, whose sum neither wraps nor depends on the order of the rows.

    Where threads overlap, some runtimes wrote a time below 0, of which only that it was no less
    than 0 is known.
    """
    return whole_nanoseconds(timer).clip(lower_bound=0).cast(pl.Int128)


def seconds(timer: str) -> pl.Expr:
    """The time, where nanoseconds has a value."""
    return pl.when(nanoseconds(timer).is_not_null()).then(pl.col(timer).clip(lower_bound=0))


def sum_of(*columns: str | pl.Expr) -> pl.Expr:
    """The sum of columns of a row; null where one of them is."""
    return pl.sum_horizontal(*columns, ignore_nulls=False)


Counted: TypeAlias = dict[str, tuple[Layer, pl.LazyFrame]]
"""Layers by name, each with its counted records."""


def counted_records(
    dataset: DatasetReader, run: str | None, traced: pl.DataFrame | None = None
) -> Counted:
    """The records of each layer that together count each byte once.

    Of a file, those of POSIX count, else of MPI-IO; where Darshan cut POSIX off in a log, those
    of both that have more bytes.  All of STDIO count.  In logs of DAOS programs, files count by
    DFS, or objects by DAOS where that has more, and MPI-IO, which goes through them, by POSIX
    alone.  HDF5 (datasets) and PnetCDF (variables) count in logs with none of these.

    traced: rows with origin and record_id: files whose records of POSIX and MPI-IO are left out.
    """
    frames = {name: of_run(dataset[layer.record_type], run) for name, layer in LAYERS.items()}
    jobs = of_run(dataset["darshan.job"], run)
    posix, mpiio = frames["posix"], frames["mpiio"]
    short = _cut_short(jobs, posix, mpiio).lazy()
    known = posix.select(FILE).unique().join(short, on=FILE, how="anti")
    on_daos = of_daos(dataset, run)
    objects = _more_in_daos(frames["dfs"], frames["daos"]).lazy()
    posix = posix.join(short, on=FILE, how="anti")
    mpiio = mpiio.join(known, on=FILE, how="anti").join(on_daos, on="origin", how="anti")
    if traced is not None:
        files = traced.lazy().select(FILE).unique()
        posix, mpiio = (frame.join(files, on=FILE, how="anti") for frame in (posix, mpiio))
    held = pl.col("modules").list.set_intersection([LAYERS[name].module for name in BASE])
    below = _origins(*(frames[name] for name in BASE), jobs.filter(held.list.len() > 0))
    h5d = frames["h5d"].join(below, on="origin", how="anti")
    above = pl.concat([below, _origins(frames["h5d"])])
    counted = {
        "posix": posix,
        "mpiio": mpiio,
        "stdio": frames["stdio"],
        "dfs": frames["dfs"].join(objects, on="origin", how="anti"),
        "daos": frames["daos"].join(objects, on="origin", how="semi"),
        "h5d": h5d,
        "pnetcdf_var": frames["pnetcdf_var"].join(above, on="origin", how="anti"),
    }
    return {name: (LAYERS[name], frame) for name, frame in counted.items()}


def of_daos(dataset: DatasetReader, run: str | None) -> pl.LazyFrame:
    """The ``origin`` of logs of programs that use DAOS."""
    return _origins(*(of_run(dataset[LAYERS[name].record_type], run) for name in ("dfs", "daos")))


def _origins(*frames: pl.LazyFrame) -> pl.LazyFrame:
    return pl.concat([frame.select(ORIGIN) for frame in frames]).unique()


def _bytes(frame: pl.LazyFrame, layer: Layer, by: tuple[str, ...], name: str) -> pl.LazyFrame:
    moved = layer.moved("read") + layer.moved("write")
    return frame.group_by(by).agg(safe_sum(moved).alias(name))


def _cut_short(jobs: pl.LazyFrame, posix: pl.LazyFrame, mpiio: pl.LazyFrame) -> pl.DataFrame:
    """Files with fewer bytes in POSIX, which Darshan cut off, than in MPI-IO."""
    cut = jobs.filter(pl.col("partial_modules").list.contains("POSIX")).select("origin")
    below, upper = (
        _bytes(frame.join(cut, on="origin", how="semi"), LAYERS[name], FILE, name)
        for name, frame in (("posix", posix), ("mpiio", mpiio))
    )
    return (
        below.join(upper, on=FILE)
        .filter(pl.col("mpiio") > pl.col("posix"))
        .select(FILE)
        .collect(engine="streaming")
    )


def _more_in_daos(dfs: pl.LazyFrame, daos: pl.LazyFrame) -> pl.DataFrame:
    """Logs with more bytes in DAOS than in DFS, in which DAOS counts."""
    return (
        _bytes(daos, LAYERS["daos"], ("origin",), "daos")
        .join(_bytes(dfs, LAYERS["dfs"], ("origin",), "dfs"), on="origin", how="left")
        .filter(pl.col("dfs").is_null() | (pl.col("daos") > pl.col("dfs")))
        .select("origin")
        .collect(engine="streaming")
    )

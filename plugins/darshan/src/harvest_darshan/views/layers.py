"""The modules that count bytes, and the choice of records that counts each byte once.

I/O through one layer passes the layers below it, which count it again: HDF5 and PnetCDF call MPI-IO
or POSIX, MPI-IO calls POSIX or DFS, and DFS calls DAOS. STDIO does not pass POSIX.
"""

from collections.abc import Mapping
from typing import Final

import attrs
import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import directory_of, possible, safe_sum, sum_or_none, whole_nanoseconds

from ..counters import COUNTS, TIMES, words

SEGMENTS: Final = "darshan.dxt_segment"
OPS: Final = ("read", "write")

ORIGIN: Final = pl.col("origin").cast(pl.String)
"""The path of a log, as text: comparable across frames."""

FILE: Final = ("origin", "record_id")
"""The key of a file in a log."""


def run_of(log: str = "origin") -> pl.Expr:
    """Return the run of a log: its directory."""
    return directory_of(pl.col(log))


_SPENT: Final = whole_nanoseconds(pl.col("end_s") - pl.col("start_s"))
SPENT_NS: Final = pl.when(_SPENT >= 0).then(_SPENT)
"""The duration of a traced operation in whole nanoseconds, whose sum does not depend on the order
of rows. Null for impossible times, for example an end before the start."""


def traced_once(trace: pl.LazyFrame) -> pl.LazyFrame:
    """Remove DXT_MPIIO operations on files that the same log also traces in DXT_POSIX.

    MPI-IO calls POSIX, so both trace the same bytes.
    """
    posix = trace.filter(pl.col("module") == "DXT_POSIX")
    other = trace.filter(pl.col("module") != "DXT_POSIX")
    return pl.concat([posix, other.join(posix.select(FILE).unique(), on=FILE, how="anti")])


@attrs.frozen
class Layer:
    """A module whose records count bytes, operations and times of a file or an object.

    module: Darshan's name.
    reads, writes: the counters, without prefix, whose sum is the number of operations.
    sizes: what follows the op in the names of its size counters; None if it has none.
    """

    module: str
    reads: tuple[str, ...] = ("READS",)
    writes: tuple[str, ...] = ("WRITES",)
    sizes: str | None = ""

    @property
    def prefix(self) -> str:
        """Prefix of the names of its counters."""
        return self.module.replace("-", "")

    @property
    def record_type(self) -> str:
        """Name of its record type."""
        return f"darshan.{self.prefix.lower()}"

    def requests(self, op: str) -> pl.Expr:
        """Return the number of operations of a record; null if a counter is unknown."""
        names = self.reads if op == "read" else self.writes
        return sum_of(*(possible(f"{self.prefix}_{name}") for name in names))

    def moved(self, op: str) -> pl.Expr:
        """Return the bytes of a record."""
        return possible(f"{self.prefix}_BYTES_{'READ' if op == 'read' else 'WRITTEN'}")

    def timer(self, what: str) -> str:
        """Return the name of the timer of ``read``, ``write`` or ``meta``."""
        return f"{self.prefix}_F_{what.upper()}_TIME"

    def spent(self, *what: str) -> pl.Expr:
        """Return the nanoseconds of all processes in ``read``, ``write`` or ``meta``."""
        return sum_of(*(nanoseconds(self.timer(word)) for word in what))

    def impossible(self, records: pl.LazyFrame) -> pl.LazyFrame:
        """Return the logs (origin), module and counters with impossible values.

        The counter ``below_zero`` stands for any time below 0, which counts as 0.
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
            .select("origin", "counter", module=pl.lit(self.module))
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
        "DAOS", words("OBJ_FETCHES ARRAY_READS KV_GETS"), words("OBJ_UPDATES ARRAY_WRITES KV_PUTS")
    ),
    "h5d": Layer("H5D", sizes="AGG_"),
    "pnetcdf_var": Layer(
        "PNETCDF_VAR",
        words("INDEP_READS COLL_READS NB_READS"),
        words("INDEP_WRITES COLL_WRITES NB_WRITES"),
        "AGG_",
    ),
}
"""Layers by their names in columns."""

BASE: Final = ("posix", "mpiio", "stdio", "dfs", "daos")
"""Layers that count bytes of files. The libraries above count only in logs without these."""

UNSUMMED: Final = ("PNETCDF_FILE", "MDHIM")
"""Modules that move bytes but whose bytes are in no sum."""


def held_layers(dataset: DatasetReader) -> dict[str, Layer]:
    """Return the layers that the dataset has records of; at least POSIX, so that there is one."""
    return {n: one for n, one in LAYERS.items() if n == "posix" or one.record_type in dataset}


def nanoseconds(timer: str) -> pl.Expr:
    """Convert a timer to whole nanoseconds, whose sum neither wraps nor depends on the order.

    Some runtimes write a time below 0 if threads overlap; it counts as 0, a lower bound.
    """
    return whole_nanoseconds(timer).clip(lower_bound=0).cast(pl.Int128)


def summed(spent: pl.Expr) -> pl.Expr:
    """Sum seconds in whole nanoseconds, so that the order does not count; null if none is known."""
    return sum_or_none((spent * 1e9).round().cast(pl.Int128)) / 1e9


def seconds(timer: str) -> pl.Expr:
    """Return a timer in seconds, at least 0; null if the value is impossible."""
    return pl.when(nanoseconds(timer).is_not_null()).then(pl.col(timer).clip(lower_bound=0))


def at_least(values: pl.Expr) -> pl.Expr:
    """Sum known counts; null instead of 0 where others are unknown."""
    return pl.when(values.is_not_null().all() | (values > 0).any()).then(safe_sum(values))


def sum_of(*columns: str | pl.Expr) -> pl.Expr:
    """Add columns of a row; null if one of them is null."""
    return pl.sum_horizontal(*columns, ignore_nulls=False)


def counted_records(dataset: DatasetReader) -> dict[str, pl.LazyFrame]:
    """Choose the records of each layer so that together they count each byte once.

    For a file, POSIX counts, else MPI-IO; if Darshan cut POSIX off in a log, the one with more
    bytes. STDIO always counts. In logs of DAOS programs, DFS counts, or DAOS if it has more bytes,
    and MPI-IO, which calls DFS, does not. HDF5 (datasets), else PnetCDF (variables), count in
    logs with none of these.
    """
    frames = {name: dataset[layer.record_type] for name, layer in LAYERS.items()}
    jobs = dataset["darshan.job"]
    posix, mpiio = frames["posix"], frames["mpiio"]
    cut = jobs.filter(pl.col("partial_modules").list.contains("POSIX")).select("origin")
    both = {name: frames[name].join(cut, on="origin", how="semi") for name in ("posix", "mpiio")}
    short = _with_more("mpiio", "posix", both, FILE)
    known = posix.select(FILE).unique().join(short, on=FILE, how="anti")
    on_daos = of_daos(dataset)
    objects = _with_more("daos", "dfs", frames, ("origin",))
    posix = posix.join(short, on=FILE, how="anti")
    mpiio = mpiio.join(known, on=FILE, how="anti").join(on_daos, on="origin", how="anti")
    held = pl.col("modules").list.set_intersection([LAYERS[name].module for name in BASE])
    below = _origins(*(frames[name] for name in BASE), jobs.filter(held.list.len() > 0))
    h5d = frames["h5d"].join(below, on="origin", how="anti")
    above = pl.concat([below, _origins(frames["h5d"])])
    chosen = {
        "posix": posix,
        "mpiio": mpiio,
        "stdio": frames["stdio"],
        "dfs": frames["dfs"].join(objects, on="origin", how="anti"),
        "daos": frames["daos"].join(objects, on="origin", how="semi"),
        "h5d": h5d,
        "pnetcdf_var": frames["pnetcdf_var"].join(above, on="origin", how="anti"),
    }
    return {name: chosen[name] for name in held_layers(dataset)}


def of_daos(dataset: DatasetReader) -> pl.LazyFrame:
    """Return the ``origin`` of logs with records of DFS or DAOS."""
    return _origins(dataset["darshan.dfs"], dataset["darshan.daos"])


def _origins(*frames: pl.LazyFrame) -> pl.LazyFrame:
    return pl.concat([frame.select(ORIGIN) for frame in frames]).unique()


def _with_more(
    upper: str, below: str, frames: Mapping[str, pl.LazyFrame], by: tuple[str, ...]
) -> pl.LazyFrame:
    """Return the keys that have more bytes in a layer than in the one below it."""
    above, under = (
        frames[name]
        .group_by(by)
        .agg(bytes=safe_sum(LAYERS[name].moved("read") + LAYERS[name].moved("write")))
        for name in (upper, below)
    )
    return (
        above.join(under, on=by, how="left")
        .filter(pl.col("bytes_right").is_null() | (pl.col("bytes") > pl.col("bytes_right")))
        .select(by)
        .collect(engine="streaming")
        .lazy()
    )

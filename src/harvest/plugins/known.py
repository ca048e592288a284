"""The plugins that the project publishes: what each brings, and the distribution to install.

It is what errors name where something is missing, and whose a name is where two plugins claim it.
A stranger's distribution cannot be in this table, which comes with the core, and an environment
holds one distribution of a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

import attrs

CORE: Final = "hpc-harvest"


@attrs.frozen(kw_only=True)
class Known:
    """A plugin of the project.

    sources, sinks, engines, commands, exporters: their names.
    records, views: the first words of the names of its record types, and of its views, reports and
        rules; whole names where another plugin has the first word.
    """

    distribution: str
    doc: str
    sources: tuple[str, ...] = ()
    sinks: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    exporters: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    views: tuple[str, ...] = ()

    def brings(self, kind: str, name: str) -> bool:
        """Whether something of a kind, such as a source or a view, is one of its."""
        if kind in ("source", "sink", "engine", "command", "exporter"):
            return name in getattr(self, f"{kind}s")
        words = self.records if kind == "record type" else self.views
        return name in words or name.partition(".")[0] in words


KNOWN: Final = (
    Known(
        distribution="hpc-harvest-cluster",
        doc="runs harvests in Slurm jobs, or on a Dask cluster",
        engines=("dask", "slurm"),
    ),
    Known(
        distribution="hpc-harvest-darshan",
        doc="reads Darshan logs: jobs, files, counters of all modules, traced operations",
        sources=("darshan",),
        records=("darshan",),
        views=("darshan", "io"),
    ),
    Known(
        distribution="hpc-harvest-dask",
        doc="captures any Dask cluster while it runs, and reads captures and cluster dumps",
        sources=("dask",),
        commands=("dask",),
        records=("dask", "run"),
    ),
    Known(
        distribution="hpc-harvest-dask-runs",
        doc="shows and compares Dask runs of any recorder: tasks, workers, I/O, findings",
        commands=("dask-runs",),
        views=("dask",),
    ),
    Known(
        distribution="hpc-harvest-distiller",
        doc="reads Distiller's job exports, or its PostgreSQL",
        sources=("distiller",),
        records=("distiller",),
    ),
    Known(
        distribution="hpc-harvest-exports",
        doc="exports datasets: to PostgreSQL, to a file of DuckDB, as research objects (RO-Crate)",
        exporters=("duckdb", "postgresql", "ro-crate"),
    ),
    Known(
        distribution="hpc-harvest-gpfs",
        doc="reads GPFS (Storage Scale) policy lists: files, what could go, how long space lasts",
        sources=("gpfs",),
        commands=("gpfs",),
        exporters=("gpfs-candidates",),
        records=("gpfs",),
        views=("gpfs",),
    ),
    Known(
        distribution="hpc-harvest-insight",
        doc="shows what sources say together: from a job to its files, and what was harvested",
        views=("run",),
    ),
    Known(
        distribution="hpc-harvest-jsonl",
        doc="writes a directory of JSON Lines, or one consolidated file of events",
        sinks=("jsonl",),
    ),
    Known(
        distribution="hpc-harvest-mofka-dask",
        doc="reads Dask runs recorded through Mofka: tasks, transfers, workers, graphs, logs, "
        "job files",
        sources=("mofka-dask",),
        commands=("mofka-dask",),
    ),
    Known(
        distribution="hpc-harvest-ncem",
        doc="reads 4D-STEM receivers' timestamps and the files they lead to",
        sources=("ncem",),
        commands=("ncem",),
        records=("ncem",),
        views=("ncem",),
    ),
    Known(
        distribution="hpc-harvest-parquet",
        doc="writes a directory of Parquet files, one folder per record type",
        sinks=("parquet",),
    ),
    Known(
        distribution="hpc-harvest-serve",
        doc="shows datasets in the browser, and answers other programs by HTTP",
        commands=("mcp", "serve"),
    ),
    Known(
        distribution="hpc-harvest-slurm",
        doc="reads Slurm accounting: sacct dumps in every layout, JSON, or a live cluster",
        sources=("slurm",),
        commands=("slurm",),
        records=("slurm",),
        views=("slurm",),
    ),
    Known(
        distribution="hpc-harvest-testing",
        doc="tests of all that plugins promise, and new plugins: for their authors",
        commands=("plugins check", "plugins new"),
    ),
    Known(
        distribution="hpc-harvest-watch",
        doc="harvests again, as files arrive or at set times, and says what a commit brought",
        commands=("schedule", "watch"),
    ),
    Known(
        distribution="hpc-harvest-yappi",
        doc="reads Yappi and cProfile saves: functions and coroutines",
        sources=("yappi",),
        records=("yappi",),
    ),
)
"""By distribution."""


def canonical(distribution: str) -> str:
    """A distribution's name, however it is spelt: indexes take these as one."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def is_ours(distribution: str) -> bool:
    """Whether a distribution is the core or one of the project's plugins."""
    return canonical(distribution) in {CORE, *(known.distribution for known in KNOWN)}


def bringing(kind: str, name: str, installed: Iterable[str]) -> str | None:
    """The distribution to install for a name of a kind; None where none is known or it is there."""
    for known in KNOWN:
        if known.brings(kind, name) and known.distribution not in installed:
            return known.distribution
    return None


def commands_below(group: str) -> Iterator[str]:
    """Commands of the project's plugins below a group of commands, in full."""
    for known in KNOWN:
        yield from (words for words in known.commands if words.startswith(f"{group} "))

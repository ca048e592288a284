"""The plugins that the project publishes: what each brings, and the distribution to install.

Error messages name the distribution if something is missing. If two plugins declare a name, the
table decides its owner. A foreign distribution cannot be in this table, which comes with the core,
and an environment holds only one distribution of a name.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

import attrs

CORE: Final = "hpc-harvest"


@attrs.frozen(kw_only=True)
class Known:
    """A plugin of the project.

    sources, sinks, engines, commands, exporters: their names.
    records, views: first words of the names of its record types, and of its views, reports and
        rules; full names if another plugin has the first word.
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


_DOCS: Final = {
    "accounting": "shows what jobs of any scheduler used and wasted, how they waited and failed",
    "cluster": "runs harvests in Slurm jobs, or on a Dask cluster",
    "darshan": "reads Darshan logs: jobs, files, counters of all modules, traced operations",
    "dask": "captures any Dask cluster while it runs, and reads captures and cluster dumps",
    "dask-runs": "shows and compares Dask runs of any recorder: tasks, workers, I/O, findings",
    "distiller": "reads Distiller's job exports, or its PostgreSQL",
    "exports": "exports datasets to PostgreSQL, Delta Lake, DuckDB or a research object (RO-Crate)",
    "gpfs": "reads GPFS (Storage Scale) policy lists: files, deletion candidates, growth",
    "insight": "joins sources: from a job to its files, and what was harvested",
    "jsonl": "writes a directory of JSON Lines, or one consolidated file of events",
    "mofka-dask": "reads Dask runs recorded through Mofka: tasks, transfers, workers, graphs, "
    "logs, job files",
    "ncem": "reads 4D-STEM receivers' timestamps and the files they lead to",
    "parquet": "writes a directory of Parquet files, one folder per record type",
    "pbs": "reads PBS accounting: logs of OpenPBS and Torque, JSON of qstat, or a live server",
    "serve": "shows datasets in the browser, and answers other programs by HTTP",
    "slurm": "reads Slurm accounting: sacct dumps in every layout, JSON, or a live cluster",
    "testing": "for authors of plugins: tests, and a template for new ones",
    "watch": "harvests as files arrive or at set times, and reports what is new",
    "yappi": "reads Yappi and cProfile saves: functions and coroutines",
}


def _own(names: str) -> dict[str, str]:
    """Map each name to the distribution's word, which is the same."""
    return {name: name for name in names.split()}


_BROUGHT: Final = {
    "sources": _own("darshan dask distiller gpfs mofka-dask ncem pbs slurm yappi"),
    "sinks": _own("jsonl parquet"),
    "engines": {"dask": "cluster", "slurm": "cluster"},
    "commands": {
        **_own("dask dask-runs gpfs mofka-dask ncem serve slurm watch"),
        "mcp": "serve",
        "schedule": "watch",
        **dict.fromkeys(("plugins check", "plugins new"), "testing"),
    },
    "exporters": {
        **dict.fromkeys(("delta", "duckdb", "postgresql", "ro-crate"), "exports"),
        "gpfs-candidates": "gpfs",
    },
    "records": {**_own("darshan dask distiller gpfs ncem pbs slurm yappi"), "run": "dask"},
    "views": {
        **_own("darshan gpfs ncem pbs slurm"),
        "dask": "dask-runs",
        "io": "darshan",
        "jobs": "accounting",
        "run": "insight",
    },
}
"""For each kind, the distribution's word by name."""

_BY_FIRST_WORD: Final = {
    **dict.fromkeys(("view", "report", "rule"), "views"),
    "record type": "records",
}

KNOWN: Final = tuple(
    Known(
        distribution=f"{CORE}-{word}",
        doc=doc,
        **{
            kind: tuple(sorted(name for name, its in names.items() if its == word))
            for kind, names in _BROUGHT.items()
        },
    )
    for word, doc in _DOCS.items()
)
"""All plugins of the project, one per distribution."""


def canonical(distribution: str) -> str:
    """Return the normalized name of a distribution, as package indexes compare names."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def is_ours(distribution: str) -> bool:
    """Return whether a distribution is the core or one of the project's plugins."""
    return canonical(distribution) in {CORE, *(known.distribution for known in KNOWN)}


def bringing(kind: str, name: str, installed: Iterable[str]) -> str | None:
    """Return the distribution to install for a name; None if none is known or it is there."""
    by_first_word = _BY_FIRST_WORD.get(kind)
    names = _BROUGHT.get(by_first_word or f"{kind}s", {})
    word = names.get(name) or (names.get(name.partition(".")[0]) if by_first_word else None)
    found = f"{CORE}-{word}"
    return found if word is not None and found not in installed else None


def commands_below(group: str) -> Iterator[str]:
    """Yield full names of the project's plugin commands below a group of commands."""
    return (words for words in _BROUGHT["commands"] if words.startswith(f"{group} "))

"""Which files of a run directory are read, and as what.

A CSV is known by the columns of its header, or by its lines where it has none but they are in a
known order, whatever its name; the other files by their names and,
where a name says too little (a shell script, a job's output), by a look at their first lines.
A directory is a *run* when it holds a file that only a Dask run leaves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import attrs

from harvest.toolkit.files import folders_of, list_files, out_of_files, walk_files
from harvest_toolkit.csv_header import column_names, header_line
from harvest_toolkit.headless import Fit, fitting

from .orders import ORDERS

HEAD_BYTES: Final = 64 * 1024
"""How much of a file is looked at to see what it is."""

DEPTH: Final = 4
"""Levels of directories below the location that are searched for runs."""

UNREADABLE: Final = "unreadable"
"""The kind of a CSV that cannot be opened, and whose name says nothing."""

LOOKED_FOR: Final = (
    "a CSV with the header of scheduler_transition, worker_transition, worker_transfer, worker, "
    "client or graph; scheduler.e, worker.e, consumer.o; *Node, *Nodes; job scripts with #PBS or "
    "#SBATCH; *.OU, *.o<jobid>; config.json, config.txt, *.yaml"
)


@attrs.frozen
class CsvKind:
    """One kind of CSV: the columns it must have and may have.

    distinctive: columns of which one at least must be there before a file of any name is taken for
        this kind; a file that bears the kind's name needs only ``required``.
    """

    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    distinctive: tuple[str, ...] = ()
    alone: bool = False
    """Whether an unknown column rules the kind out, since its own columns are so common."""

    @property
    def known(self) -> tuple[str, ...]:
        """All columns that have a place in the record type."""
        return self.required + self.optional


CSV_KINDS: Final[dict[str, CsvKind]] = {
    kind.name: kind
    for kind in (
        CsvKind(
            "scheduler_transition",
            required=("key", "start", "finish", "time"),
            optional=(
                *("thread", "worker", "prefix", "group", "stimulus_id", "called_from"),
                *("begins", "ends", "duration", "size"),
            ),
            distinctive=("stimulus_id", "prefix", "group", "begins"),
        ),
        CsvKind(
            "worker_transition",
            required=("key", "start", "finish", "time"),
            optional=("called_from",),
            distinctive=("called_from",),
        ),
        CsvKind(
            "worker_transfer",
            required=("start", "stop", "keys", "type"),
            optional=(
                *("middle", "duration", "total", "bandwidth", "who", "called_from", "time"),
                "compressed",
            ),
            distinctive=("called_from", "who", "total"),
        ),
        CsvKind(
            "graph",
            required=("keys", "dependencies"),
            optional=("client", "time"),
            distinctive=("client", "time"),
        ),
        CsvKind(
            "worker",
            required=("worker", "time"),
            optional=("action", "stimulus_id"),
            distinctive=("worker",),
            alone=True,
        ),
        CsvKind(
            "client",
            required=("client", "time"),
            optional=("action",),
            distinctive=("client",),
            alone=True,
        ),
    )
}

_CSV_NAMES: Final = re.compile(
    r"(scheduler_transition|worker_transition|worker_transfer|worker|client|graph)s?"
    r"(?:[_.-][\w.-]*)?\.csv",
    re.ASCII,
)
_NAMES: Final[dict[str, str]] = {
    "scheduler_log": r"(?a:scheduler(?:[_.-][\w.-]*)?\.(?:e|err|log))",
    "worker_log": r"(?a:worker(?:[_.-][\w.-]*)?\.(?:e|err|log))",
    "consumer_log": r"(?a:consumer(?:[_.-][\w.-]*)?\.(?:o|out))",
    "nodes": r"[A-Za-z][A-Za-z0-9_]*Nodes?",
    "job_output": r"(?a:.*\.OU|.*\.o\d+|slurm-\d+[\w.-]*\.out)",
    "job_script": r".*\.(?:sh|bash|pbs|slurm|sbatch|job|qsub)",
    "json_config": r"(?i:(?:.*[_.-])?(?:config|bedrock)(?:[_.-].*)?\.json)",
    "darshan_config": r"(?ai:config\.txt|darshan[\w.-]*\.(?:txt|conf|cfg))",
    "yaml_config": r"(?i:.*\.ya?ml)",
}
"""Names of the other files by their kind, of which the first that fits is taken."""
_DIRECTIVE: Final = re.compile(rb"^#(?:PBS|SBATCH)[ \t]", re.MULTILINE)

EVIDENCE: Final = frozenset({*CSV_KINDS, "scheduler_log", "worker_log", "consumer_log", "nodes"})
"""Kinds of files that make a directory a run; scripts and settings lie anywhere."""


@attrs.frozen
class RunFile:
    """A file that is read: its path and kind (a CSV kind, or ``nodes``, ``worker_log``, ...).

    order: the known order of columns that the lines of a CSV without a header fit.
    """

    path: Path
    kind: str
    by_header: bool = False
    order: Fit | None = None


def parse_header(line: bytes) -> list[str]:
    """Names of the columns in a CSV's header line; none where it is not a text.

    A name that repeats gets a number, as pandas does: ``action``, ``action.1``.
    """
    names: list[str] = []
    for word in column_names(line):
        unique, count = word, 1
        while unique and unique in names:
            unique, count = f"{word}.{count}", count + 1
        names.append(unique)
    return names


def csv_kind_of_header(names: list[str]) -> str | None:
    """The kind of CSV that has these columns; None when it is none of ours."""
    found = set(names)
    for kind in CSV_KINDS.values():
        if not found.issuperset(kind.required) or found.isdisjoint(kind.distinctive):
            continue
        if kind.alone and not found <= {"", *kind.known}:
            continue
        return kind.name
    return None


def kind_of(path: Path) -> RunFile | None:
    """What a file is read as; None when it is not ours.

    A file that cannot be opened is classified by its name, and is ``UNREADABLE`` if that says
    nothing: reading it then costs only that file.
    """
    name = path.name
    if name.endswith(".csv"):
        match = _CSV_NAMES.fullmatch(name)
        by_name = match[1] if match else None
        try:
            found = _by_content(path)
        except OSError as error:
            if out_of_files(error):
                raise
            return RunFile(path, by_name or UNREADABLE)
        return found or (RunFile(path, by_name) if by_name else None)
    kind = next((kind for kind, named in _NAMES.items() if re.fullmatch(named, name)), None)
    if kind is None or (kind == "job_script" and not _may_hold_directives(path)):
        return None
    return RunFile(path, kind)


def _may_hold_directives(path: Path) -> bool:
    """Whether a script begins with some, as far as it can be opened."""
    try:
        with path.open("rb") as file:
            return _DIRECTIVE.search(file.read(HEAD_BYTES)) is not None
    except OSError as error:
        if out_of_files(error):
            raise
        return True


def kind_by_itself(path: Path) -> RunFile | None:
    """As ``kind_of``, of a file that is named: what has no ending, as from a pipe, may be a CSV."""
    return kind_of(path) or (_by_content(path) if not path.suffix else None)


def _by_content(path: Path) -> RunFile | None:
    kind = csv_kind_of_header(parse_header(header_line(path)))
    if kind is not None:
        return RunFile(path, kind, by_header=True)
    order = fitting(path, ORDERS)
    return RunFile(path, order.order.name, order=order) if order else None


def files_of(directory: Path) -> list[RunFile]:
    """The files directly in ``directory`` that are read, sorted by name."""
    return _known(list_files(directory))


def _known(paths: list[Path]) -> list[RunFile]:
    return [found for path in paths if (found := kind_of(path)) is not None]


def is_run(files: list[RunFile]) -> bool:
    """Whether a directory with these files is a run."""
    return any(file.kind in EVIDENCE for file in files)


def walk(location: Path, depth: int = DEPTH) -> Iterator[tuple[Path, list[RunFile]]]:
    """The runs at and below ``location``: each directory with the files to read there.

    Hidden directories and links to directories are not entered.
    """
    return _runs(walk_files(location, depth=depth, hidden=False))


def runs_of(location: Path, paths: Iterable[Path]) -> Iterator[tuple[Path, list[RunFile]]]:
    """The runs below ``location`` that some files, also gone ones, lie directly in; as ``walk``."""
    folders = folders_of(location, paths, depth=DEPTH, hidden=False)
    return _runs((folder, list_files(folder)) for folder in folders)


def _runs(listed: Iterable[tuple[Path, list[Path]]]) -> Iterator[tuple[Path, list[RunFile]]]:
    for folder, paths in listed:
        files = _known(paths)
        if is_run(files):
            yield folder, files

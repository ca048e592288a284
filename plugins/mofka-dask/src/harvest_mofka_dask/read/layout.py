"""Recognition of the files of a run directory, and their kinds.

A CSV of any name is recognized by the columns of its header, or without a header by its lines, if
they have a known order.  Other files are recognized by their names, and scripts also by their first
lines.  A directory is a *run* if it contains a file that only a Dask run leaves.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import attrs

from harvest.toolkit.files import may_be, out_of_files
from harvest_toolkit.csv_header import column_names, header_line, is_csv
from harvest_toolkit.headless import Fit, Order, fitting

HEAD_BYTES: Final = 64 * 1024
"""Maximum bytes of a file that are read to recognize it."""

UNREADABLE: Final = "unreadable"
"""Kind of a CSV that cannot be opened, and that its name does not identify."""

LOOKED_FOR: Final = (
    "a CSV with the header of scheduler_transition, worker_transition, worker_transfer, worker, "
    "client or graph; scheduler.e, worker.e, consumer.o; *Node, *Nodes; job scripts with #PBS or "
    "#SBATCH; *.OU, *.o<jobid>; config.json, config.txt, *.yaml"
)


_TIME: Final = r"\d{9,10}(?:\.\d*)?"
_NUMBER: Final = r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|nan|None|"
_ADDRESS: Final = r"[a-z]+://\S+"
_STATE: Final = (
    r"(?i:released|waiting|no-worker|queued|processing|memory|erred|forgotten|constrained|ready|"
    r"executing|long-running|fetch|flight|missing|cancelled|resumed|rescheduled|error)"
)
_SET_OR_DICT: Final = r"(?s:\{.*\}|set\(\))"
_SHAPES: Final = {
    **dict.fromkeys(("key", "prefix", "group", "stimulus_id"), ""),
    **dict.fromkeys(("stop", "middle", "time"), _TIME),
    **dict.fromkeys(("begins", "ends"), rf"{_TIME}|"),
    **dict.fromkeys(("thread", "duration", "size", "total", "bandwidth", "compressed"), _NUMBER),
    **dict.fromkeys(("start", "finish"), _STATE),
    **dict.fromkeys(("keys", "dependencies"), _SET_OR_DICT),
    **dict.fromkeys(("worker", "who"), rf"{_ADDRESS}|"),
    "called_from": _ADDRESS,
    "client": r"Client-\S+",
    "action": r"(?i:(?:add|remove)(?:_worker|_client)?|)",
    "type": r"(?:incoming|outgoing)_transfer",
}
"""Pattern of each column's texts; empty where any text is possible."""


def _order(kind: str, columns: str, *, shown_by: tuple[str, ...] = (), **own: str) -> Order:
    """Declare an order after the index that pandas writes; own: other patterns of some columns."""
    shapes = {name: (_SHAPES | own)[name] for name in columns.split()}
    return Order({"": r"\d+", **shapes}, shown_by, kind)


ORDERS: Final = (
    _order(
        "scheduler_transition",
        "key thread worker prefix group start finish stimulus_id called_from begins ends duration "
        "size time",
    ),
    _order("worker_transition", "key start finish called_from time"),
    _order(
        "worker_transfer",
        "start stop middle duration keys total bandwidth who type called_from time compressed",
        start=_TIME,
    ),
    _order(
        "worker_transfer",
        "start stop middle duration who keys total compressed bandwidth type called_from time",
        start=_TIME,
    ),
    _order("graph", "client keys dependencies time"),
    _order("worker", "worker action stimulus_id time", shown_by=("worker",)),
    _order("client", "client action time"),
)
"""Known orders of columns in CSVs, by coupler, for those without a header."""


@attrs.frozen
class CsvKind:
    """A kind of CSV; ``orders`` has all its columns.

    required: columns that every file has.
    distinctive: columns of which a file needs at least one to be recognized as this kind; a file
        with the kind's name needs only ``required``.
    alone: whether an unknown column rules the kind out, since its own columns are common.
    """

    name: str
    required: tuple[str, ...]
    distinctive: tuple[str, ...]
    alone: bool = False

    @property
    def orders(self) -> list[Order]:
        """The known orders of its columns."""
        return [order for order in ORDERS if order.name == self.name]

    @property
    def known(self) -> frozenset[str]:
        """All columns that the reader converts."""
        return frozenset(name for order in self.orders for name in order.columns if name)


_TRANSITION: Final = ("key", "start", "finish", "time")
CSV_KINDS: Final[dict[str, CsvKind]] = {
    kind.name: kind
    for kind in (
        CsvKind("scheduler_transition", _TRANSITION, ("stimulus_id", "prefix", "group", "begins")),
        CsvKind("worker_transition", _TRANSITION, ("called_from",)),
        CsvKind(
            "worker_transfer", ("start", "stop", "keys", "type"), ("called_from", "who", "total")
        ),
        CsvKind("graph", ("keys", "dependencies"), ("client", "time")),
        CsvKind("worker", ("worker", "time"), ("worker",), alone=True),
        CsvKind("client", ("client", "time"), ("client",), alone=True),
    )
}

_CSV_NAMES: Final = re.compile(
    r"(scheduler_transition|worker_transition|worker_transfer|worker|client|graph)s?"
    r"(?:[_.-][\w.-]*)?\.csv(?:\.(?:gz|bz2|xz))?",
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
"""Patterns of the names of other files by kind; the first that matches counts."""
_DIRECTIVE: Final = re.compile(rb"^#(?:PBS|SBATCH)[ \t]", re.MULTILINE)

EVIDENCE: Final = frozenset({*CSV_KINDS, "scheduler_log", "worker_log", "consumer_log", "nodes"})
"""Kinds of files that make a directory a run; scripts and settings may be anywhere."""


@attrs.frozen
class RunFile:
    """A file to read: its path and kind (a CSV kind, or ``nodes``, ``worker_log``, ...).

    order: the known order of columns in a CSV without a header.
    """

    path: Path
    kind: str
    by_header: bool = False
    order: Fit | None = None


def parse_header(line: bytes) -> list[str]:
    """Return the names of the columns in a CSV's header line; none if it is not text.

    Repeated names get numbers, as in pandas: ``action``, ``action.1``.
    """
    names: list[str] = []
    for word in column_names(line):
        unique, count = word, 1
        while unique and unique in names:
            unique, count = f"{word}.{count}", count + 1
        names.append(unique)
    return names


def csv_kind_of_header(names: list[str]) -> str | None:
    """Return the kind of CSV with these columns; None if there is none."""
    found = set(names)
    for kind in CSV_KINDS.values():
        fits = found.issuperset(kind.required) and not found.isdisjoint(kind.distinctive)
        if fits and (not kind.alone or found <= {"", *kind.known}):
            return kind.name
    return None


def kind_of(path: Path) -> RunFile | None:
    """Recognize a file; None if it is not a file of a run.

    A CSV that cannot be opened is recognized by its name, else it is ``UNREADABLE``: then only
    this file fails.
    """
    name = path.name
    if is_csv(name):
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
    if kind is None or (kind == "job_script" and not may_be(path, _holds_directives)):
        return None
    return RunFile(path, kind)


def _holds_directives(path: Path) -> bool:
    """Return whether a script begins with directives."""
    with path.open("rb") as file:
        return _DIRECTIVE.search(file.read(HEAD_BYTES)) is not None


def kind_by_itself(path: Path) -> RunFile | None:
    """Recognize a file that the user named: without a suffix, as from a pipe, it may be a CSV."""
    return kind_of(path) or (_by_content(path) if not path.suffix else None)


def _by_content(path: Path) -> RunFile | None:
    kind = csv_kind_of_header(parse_header(header_line(path)))
    if kind is not None:
        return RunFile(path, kind, by_header=True)
    order = fitting(path, ORDERS)
    return RunFile(path, order.order.name, order=order) if order else None


def known_files(paths: Iterable[Path]) -> list[RunFile]:
    """Return those of some files that are files of a run."""
    return [found for path in paths if (found := kind_of(path)) is not None]


def runs(listed: Iterable[tuple[Path, list[Path]]]) -> Iterator[tuple[Path, list[RunFile]]]:
    """Select the runs among directories with their files; yield each with the files to read."""
    for folder, paths in listed:
        files = known_files(paths)
        if any(file.kind in EVIDENCE for file in files):
            yield folder, files

"""Readers of hosts by role, and of the directives of a batch script."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from itertools import takewhile
from typing import Any, Final

from harvest import Partition, ReadContext
from harvest_dask.records.types import RunDirective, RunNode
from harvest_toolkit.lines import numbered

BLANK: Final = "blank or comment line"
BEHIND: Final = "directive behind the first command, which the batch system ignores"
LINE_LIMIT: Final = 16 * 1024 * 1024
"""Maximum bytes of a line in a job's small files."""
LONGEST: Final = 64 * 1024
"""Maximum characters of a directive: splitting it into words takes quadratic time."""

_HOST: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.\[\],:-]*[A-Za-z0-9_\]])?")
_WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_DIRECTIVE: Final = re.compile(r"#(PBS|SBATCH)(?:\s+(.*))?")
_RESOURCE: Final = re.compile(r",(?=\w+=)")

_PBS_SWITCHES: Final = frozenset("fhIVXz")
_SLURM_SWITCHES: Final = frozenset("HIkOQsvVWhu")
_SLURM_LONG_SWITCHES: Final = (
    *("contiguous", "exclusive", "get-user-env", "help", "hold", "ignore-pbs", "immediate"),
    *("no-kill", "no-requeue", "nice", "overcommit", "oversubscribe", "parsable"),
    *("propagate", "quiet", "reboot", "requeue", "spread-job", "stepmgr", "test-only"),
    *("usage", "use-min-nodes", "verbose", "version", "wait"),
)


def nodes(partition: Partition, ctx: ReadContext, _: Any) -> Iterator[RunNode]:
    """Read ``SchedulerNode``, ``WorkerNodes``, ...: one host per line; repeats are merged."""
    # MofkaServerNode has the role mofka_server
    stem = re.sub(r"_?Nodes?$", "", partition.path.name)
    role = _WORD_START.sub("_", stem).lower() or "node"
    seen: dict[str, RunNode] = {}
    copies: Counter[str] = Counter()
    for number, raw, size, ended in numbered(partition.path, LINE_LIMIT):
        ctx.advance(size + ended)
        ctx.read(1)
        line = raw.decode("utf-8", "backslashreplace").strip()
        if not line or line.startswith("#"):
            ctx.filtered(1, BLANK)
            continue
        host, *more = line.split()
        if not _HOST.fullmatch(host):
            ctx.reject(
                raw.rstrip(b"\r"), "is not a host name", position=number, record_type="run.node"
            )
            continue
        copies[line] += 1
        if line in seen:
            ctx.folded(1, "repeated host")
            continue
        extra = {"rest_of_line": " ".join(more)} if more else None
        seen[line] = RunNode(role=role, host=host, position=number, extra=extra)
    for line, node in seen.items():
        if copies[line] > 1:
            node.extra = {**(node.extra or {}), "lines": str(copies[line])}
        yield node
    if not seen:
        ctx.note(f"{partition.path.name} names no host")


def directives(partition: Partition, ctx: ReadContext, _: Any) -> Iterator[RunDirective]:
    """Read the ``#PBS`` or ``#SBATCH`` lines of a job script, one row per option.

    ``position`` numbers the options of the file; ``extra`` has the line.  A unit is an option on
    a directive line, or any other line.  Directives after the first command count as filtered:
    the batch system ignores them.
    """
    commands, position = False, 0
    for number, raw, size, ended in numbered(partition.path, LINE_LIMIT):
        ctx.advance(size + ended)
        line = raw.decode("utf-8", "backslashreplace").strip()
        match = _DIRECTIVE.fullmatch(line)
        if match is None or commands:
            ctx.read(1)
            if match is not None:
                ctx.filtered(1, BEHIND)
            elif not line or line.startswith("#"):
                ctx.filtered(1, BLANK)
            else:
                ctx.filtered(1, "command of the script")
                commands = True
            continue
        manager = "pbs" if match[1] == "PBS" else "slurm"
        try:
            options = _pbs(_words(match[2])) if manager == "pbs" else _slurm(_words(match[2]))
        except ValueError as error:
            ctx.read(1)
            ctx.reject(raw.rstrip(b"\r"), str(error), position=number, record_type="run.directive")
            continue
        if not options:
            ctx.read(1)
            ctx.filtered(1, "directive without an option")
        ctx.read(len(options))
        for key, value in options:
            extra = {"line": str(number)}
            position += 1
            yield RunDirective(
                manager=manager, key=key, value=value, position=position, extra=extra
            )


def _words(text: str | None) -> list[str]:
    """Split a directive into words as the shell does, up to a comment."""
    if len(text or "") > LONGEST:
        raise ValueError(f"the directive is longer than {LONGEST} characters")
    try:
        words = shlex.split(text or "")
    except ValueError as error:
        raise ValueError(f"the directive cannot be split into words: {error}") from error
    return list(takewhile(lambda word: not word.startswith("#"), words))


def _pbs(words: list[str]) -> list[tuple[str, str | None]]:
    """Parse options of PBS: ``-q run_next``; ``-l walltime=4:00:00,select=2`` is two options."""
    options: list[tuple[str, str | None]] = []
    rest = iter(words)
    for word in rest:
        if len(word) < 2 or word[0] != "-":
            raise ValueError(f"{word!r} is not an option of PBS")
        letter, value = word[1], word[2:] or None
        if letter in _PBS_SWITCHES and value is None:
            options.append((letter, None))
            continue
        if value is None and (value := next(rest, None)) is None:
            raise ValueError(f"option -{letter} has no value")
        options += map(_option, _RESOURCE.split(value)) if letter == "l" else [(letter, value)]
    return options


def _option(text: str) -> tuple[str, str | None]:
    """Split ``select=4:system=polaris`` into name and value; a bare word is a switch."""
    name, equals, value = text.partition("=")
    return name, value if equals else None


def _slurm(words: list[str]) -> list[tuple[str, str | None]]:
    """Parse options of Slurm: ``--nodes=4``, ``--nodes 4``, ``-N 4``, ``-N4``, ``--exclusive``."""
    options: list[tuple[str, str | None]] = []
    rest = iter(words)
    for word in rest:
        if word.startswith("--") and len(word) > 2:
            key, value = _option(word[2:])
            switch = key in _SLURM_LONG_SWITCHES
        elif word.startswith("-") and len(word) > 1:
            key, value = word[1], word[2:].removeprefix("=") or None
            switch = key in _SLURM_SWITCHES
        else:
            raise ValueError(f"{word!r} is not an option of Slurm")
        if value is None and not switch and (value := next(rest, None)) is None:
            raise ValueError(f"option {word} has no value")
        options.append((key, value))
    return options

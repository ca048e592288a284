"""What workers elsewhere must have in common with the run: versions and files.

A worker with another version of a plugin would write other rows, one that does not see the
dataset's directory would stage them out of reach; both are found out before the first partition.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import socket
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any, Final

import attrs

from harvest.api.sink import Sink
from harvest.api.source import Source
from harvest.errors import UsageError
from harvest.plugins.known import CORE
from harvest.plugins.registry import manager
from harvest.storage.staging import STAGING
from harvest.toolkit.files import write_atomically

from .task import Task

_REMEDY: Final = "give the workers the same environment and the same file system as the run"


@attrs.frozen(kw_only=True)
class Terms:
    """What a worker is checked for; picklable.

    versions: distribution and version; probes: files, each of which holds ``token``.
    """

    token: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    probes: tuple[str, ...] = ()

    def problems(self) -> list[str]:
        """Sentences about what this process lacks; empty when all is well."""
        found = []
        for name, wanted in self.versions:
            try:
                here = version(name)
            except PackageNotFoundError:
                found.append(f"{name} is not installed there")
                continue
            if here != wanted:
                found.append(f"{name} is {here} there and {wanted} here")
        for probe in self.probes:
            try:
                seen = Path(probe).read_text(encoding="ascii") == self.token
            except OSError:
                seen = False
            if not seen:
                found.append(f"{Path(probe).parent} is not the directory there that it is here")
        return found

    def require(self) -> None:
        """Raise UsageError when this process, which works for a run elsewhere, lacks something."""
        problems = _problems(self)
        if problems:
            raise self.refusal(f"the worker on {socket.gethostname()}", problems)

    @staticmethod
    def refusal(worker: str, problems: Sequence[str]) -> UsageError:
        """The error that says why a worker cannot work for this run."""
        return UsageError(
            f"{worker} cannot work for this run: {'; '.join(problems)}", remedy=_REMEDY
        )


@cache
def _problems(terms: Terms) -> list[str]:
    return terms.problems()


def versions_for(used: Iterable[Source | Sink]) -> dict[str, str]:
    """The core, and these sources' and sinks' plugins with the libraries of ours that they need."""
    plugins = manager()
    found = {CORE: version(CORE)}
    for cls in {type(item) for item in used}:
        if cls.__module__ == "__main__":
            raise UsageError(
                f"workers elsewhere cannot have {cls.__name__!r}, which is defined in the program "
                "or notebook itself",
                remedy="move it to a file of its own and name that, as FILE.py:LOCATION",
            )
        spec = plugins.declaring(cls)
        if spec is not None:
            found |= plugins.owner(spec).versions
    libraries = {library for name in found for library in _libraries(name)}
    return {name: version(name) for name in sorted(libraries)} | found


def _libraries(distribution: str) -> list[str]:
    """Our distributions that one needs in addition to the core without any extra."""
    needed = [text.partition(";") for text in requires(distribution) or ()]
    names = [re.match(r"[\w.-]+", text) for text, _, marker in needed if "extra" not in marker]
    return [name[0] for name in names if name and name[0].startswith(f"{CORE}-")]


@contextlib.contextmanager
def probed(terms: Terms, sinks: Iterable[Sink]) -> Iterator[Terms]:
    """The terms, and that a worker sees the directories of these sinks, inside the ``with``."""
    token = secrets.token_hex(8)
    states = sorted({sink.state for sink in sinks})
    probes = [state / STAGING / f"probe-{token}" for state in states]
    try:
        for probe in probes:
            write_atomically(probe, token.encode("ascii"))
        yield attrs.evolve(terms, token=token, probes=tuple(map(str, probes)))
    finally:
        for probe in probes:
            probe.unlink(missing_ok=True)


class Absolute:
    """Makes tasks mean the same in a process with another working directory.

    Called with a task, it gives one of which sources and sinks have absolute locations.
    """

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Any]] = {}

    def __call__(self, task: Task) -> Task:
        return attrs.evolve(
            task,
            source=self._of(task.source),
            targets=tuple((self._of(sink), part) for sink, part in task.targets),
        )

    def _of(self, item: Any) -> Any:
        # kept with what was made of it, so that its id stays its own
        if id(item) not in self._made:
            self._made[id(item)] = (item, _absolute(item))
        return self._made[id(item)][1]


def _absolute(item: Source | Sink) -> Source | Sink:
    path = Path(item.location).expanduser()
    if path.is_absolute():
        return item
    made: Any = type(item)(str(path.absolute()), item.config)
    if isinstance(item, Sink):
        return made if made.state == item.state else item
    return made if path.exists() else item

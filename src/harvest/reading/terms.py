"""Requirements for workers in other processes: the same versions and files as the run.

A worker with another version of a plugin would write different rows. A worker that does not see the
dataset's directory would stage them out of reach. Both are detected before the first partition.
"""

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

_REMEDY: Final = "give the workers the same environment and the same file system as the run"


@attrs.frozen(kw_only=True)
class Terms:
    """Requirements that a worker is checked for; picklable.

    versions: distribution and version; probes: files, each of which holds ``token``.
    """

    token: str = ""
    versions: tuple[tuple[str, str], ...] = ()
    probes: tuple[str, ...] = ()

    def problems(self) -> list[str]:
        """Return a sentence for each requirement that this process does not meet."""
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
        """Raise UsageError if this process does not meet the terms of the run it works for."""
        problems = _problems(self)
        if problems:
            raise self.refusal(f"the worker on {socket.gethostname()}", problems)

    @staticmethod
    def refusal(worker: str, problems: Sequence[str]) -> UsageError:
        """Build the error that says why a worker cannot work for this run."""
        return UsageError(
            f"{worker} cannot work for this run: {'; '.join(problems)}", remedy=_REMEDY
        )


@cache
def _problems(terms: Terms) -> list[str]:
    return terms.problems()


def versions_for(used: Iterable[Source | Sink]) -> dict[str, str]:
    """Return versions of the core, of plugins in use, and of the harvest libraries they need."""
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
    """Return the harvest distributions that a distribution requires without any extra."""
    needed = [text.partition(";") for text in requires(distribution) or ()]
    names = [re.match(r"[\w.-]+", text) for text, _, marker in needed if "extra" not in marker]
    return [name[0] for name in names if name and name[0].startswith(f"{CORE}-")]


@contextlib.contextmanager
def probed(terms: Terms, sinks: Iterable[Sink]) -> Iterator[Terms]:
    """Add probe files to the terms within the ``with``: workers must see the sinks' directories."""
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


def absolute(item: Any) -> Any:
    """Return a source or sink that is valid in another working directory: its location absolute."""
    path = Path(item.location).expanduser()
    if path.is_absolute():
        return item
    made: Any = type(item)(str(path.absolute()), item.config)
    if isinstance(item, Sink):
        return made if made.state == item.state else item
    return made if path.exists() else item

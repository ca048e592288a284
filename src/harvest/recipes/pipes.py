"""Copy the content of pipes to files, which sources read like any other file.

A source may then read its input repeatedly, and workers may read ranges of it. Rows, rejects, notes
and errors name the pipe. The file is removed when the run ends.
"""

import contextlib
import os
import queue
import select
import shutil
import stat
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final

import attrs

from harvest import interrupt
from harvest.errors import SourceError, UsageError
from harvest.reading.pipes import Pipe, pipe_of
from harvest.toolkit.texts import printable, printable_line

from .recipe import Endpoint, Recipe

COPIES: Final = "pipes"
"""Directory for the content of pipes, in the staging area of a run's first dataset."""

_BLOCK: Final = 1 << 20

_Report = Callable[[str, int], None]
"""Callback with the origin of a pipe and the number of bytes read from it so far."""


def with_pipes(recipe: Recipe) -> Recipe:
    """Return the recipe with its pipes marked; raise UsageError if two sources name one pipe."""
    sources, seen = [], set()
    for endpoint in recipe.sources:
        pipe = endpoint.pipe or pipe_of(endpoint.location)
        if pipe is not None and pipe.identity in seen:
            problem = "two sources would read this pipe, which can be read only once"
            remedy = "make two runs, or save it to a file first"
            raise UsageError(problem, where=printable_line(pipe.origin), remedy=remedy)
        seen |= {pipe.identity} if pipe is not None else set()
        sources.append(attrs.evolve(endpoint, pipe=pipe))
    return attrs.evolve(recipe, sources=tuple(sources))


@contextlib.contextmanager
def copied_pipes(
    recipe: Recipe,
    directory: Path,
    report: _Report,
    *,
    most: int | None = None,
    live: Collection[Endpoint] | None = None,
) -> Iterator[Recipe]:
    """Read all pipes to their end, and yield the recipe with a file for each.

    directory: for the files; created here, and removed afterwards.
    report: called several times a second.
    most: maximum number of bytes to read from each pipe.
    live: to get rows without delay, the sources that can read a growing input: they read the pipe
        itself. If standard input is a file, every source reads it directly.
    """
    try:
        sources = []
        for number, endpoint in enumerate(recipe.sources):
            if (pipe := endpoint.pipe) is not None:
                # keep the name: some sources use it to recognise a format
                file = directory / str(number) / Path(pipe.origin).name
                file.parent.mkdir(parents=True)
                place = None if live is None else _place(pipe, live=endpoint in live)
                if place is not None:
                    file.symlink_to(place)
                else:
                    _copy(pipe, file, report, most)
                endpoint = attrs.evolve(endpoint, pipe=attrs.evolve(pipe, file=file))
            sources.append(endpoint)
        yield attrs.evolve(recipe, sources=tuple(sources))
    finally:
        with interrupt.deferred():
            shutil.rmtree(directory, ignore_errors=True)


def _place(pipe: Pipe, *, live: bool) -> str | None:
    """Return a path that a source may read instead of a copy, or None."""
    if pipe.descriptor is None:
        return pipe.location if live else None
    if not stat.S_ISREG(os.fstat(pipe.descriptor).st_mode):
        return f"/dev/fd/{pipe.descriptor}" if live else None
    again = f"/proc/self/fd/{pipe.descriptor}"  # on Linux, opens the file again at its start
    fresh = os.lseek(pipe.descriptor, 0, os.SEEK_CUR) == 0
    return again if fresh and Path(again).exists() else None


def _copy(pipe: Pipe, file: Path, report: _Report, most: int | None) -> None:
    size = 0
    with file.open("wb") as copy, _opened(pipe, lambda: report(pipe.origin, size)) as descriptor:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while most is None or size < most:
            interrupt.check()
            report(pipe.origin, size)
            if not poll.poll(interrupt.POLL_S * 1000):
                continue
            try:
                block = os.read(descriptor, _BLOCK if most is None else min(_BLOCK, most - size))
            except BlockingIOError:  # another process has read it
                continue
            except OSError as error:
                raise SourceError(
                    f"cannot be read: {error.strerror}", where=printable(pipe.origin)
                ) from error
            if not block:
                break
            copy.write(block)
            size += len(block)
    if not size:
        # usually the writing command failed; an empty input would replace earlier rows
        problem = "nothing came through this pipe"
        remedy = "check the command that writes into it, or name an empty file"
        raise SourceError(problem, where=printable(pipe.origin), remedy=remedy)


@contextlib.contextmanager
def _opened(pipe: Pipe, waiting: Callable[[], None]) -> Iterator[int]:
    """Yield a pipe's descriptor; call ``waiting`` repeatedly until a named pipe has a writer."""
    if pipe.descriptor is not None:
        yield pipe.descriptor
        return
    found: queue.SimpleQueue[int | OSError] = queue.SimpleQueue()

    def opening() -> None:
        try:
            found.put(os.open(pipe.location, os.O_RDONLY | os.O_CLOEXEC))
        except OSError as error:
            found.put(error)

    # opening blocks until there is a writer; in a thread, so that a signal can end the wait
    threading.Thread(target=opening, daemon=True).start()
    while True:
        interrupt.check()
        waiting()
        try:
            descriptor = found.get(timeout=interrupt.POLL_S)
            break
        except queue.Empty:
            continue
    if isinstance(descriptor, OSError):
        problem = f"cannot be read: {descriptor.strerror}"
        raise SourceError(problem, where=printable(pipe.origin), remedy="check its permissions")
    try:
        yield descriptor
    finally:
        os.close(descriptor)

"""Inputs for commands other than runs: which sources recognise them, and the rows of each.

Nothing is written. A recipe names the inputs; only the beginning of its pipes is read.
"""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs
import pyarrow as pa

from harvest import interrupt
from harvest.api.source import Partition, ReadContext, Source
from harvest.model import RecordType
from harvest.pipeline.prepare import prepare_sources
from harvest.plugins.registry import PluginManager, manager
from harvest.reading.pipes import Pipe, pipe_of
from harvest.reading.reading import prepare_partition, read_tables
from harvest.reading.through_pipes import partitions_through
from harvest.recipes.choose import SURE, name_sources
from harvest.recipes.pipes import COPIES, copied_pipes, with_pipes
from harvest.recipes.recipe import Recipe
from harvest.recipes.selection import partitions_of
from harvest.recipes.survey import Known, Survey, survey
from harvest.storage.target import storage_errors
from harvest.toolkit.amounts import bytes_in_words
from harvest.toolkit.steps import step
from harvest.toolkit.texts import printable_line

from .progress import working

__all__ = ["SURE", "Known", "Reader", "Survey", "beginnings", "pipe_of", "readers", "survey"]

PIPE_BYTES: Final = 64 << 20
"""Maximum number of bytes read from the beginning of a pipe."""


@attrs.frozen
class Reader:
    """A configured source and its input; pipe: the pipe with the content it reads, if any."""

    source: Source
    pipe: Pipe | None = None

    def partitions(self) -> Iterator[Partition]:
        """List the source's partitions; raise SourceError if it cannot."""
        if self.pipe is None:
            return partitions_of(self.source)
        return partitions_through(self.source, self.pipe)

    def tables(
        self, partition: Partition, ctx: ReadContext
    ) -> Iterator[tuple[RecordType, pa.Table]]:
        """Yield the rows of a partition as ``harvest.tables`` does.

        Raises SourceError if the input cannot be read. Raises PluginError, which names the line, if
        the source fails.
        """
        yield from read_tables(self.source, prepare_partition(self.source, partition), ctx)

    @property
    def cut(self) -> str | None:
        """Remark on a pipe of which only the beginning was read, else None."""
        pipe = self.pipe
        if pipe is None or pipe.file is None or pipe.file.stat().st_size < PIPE_BYTES:
            return None
        shown, size = printable_line(pipe.origin), bytes_in_words(PIPE_BYTES)
        return f"{shown}: only its first {size} were read; the last record may be incomplete"


def readers(recipe: Recipe, plugins: PluginManager | None = None) -> tuple[list[Reader], list[str]]:
    """Return the sources of a recipe, and remarks on locations without a source name.

    Raises the same errors as ``harvest.Session``.
    """
    plugins = plugins or manager()
    recipe, choices = name_sources(recipe, plugins)
    return [Reader(use.source, use.pipe) for use in prepare_sources(recipe, plugins)], choices


@contextlib.contextmanager
def beginnings(recipe: Recipe) -> Iterator[Recipe]:
    """Yield the recipe with a file for each of its pipes, holding at most the first 64 MiB.

    A terminal shows how much was read. The files, which ``Endpoint.place`` names, are removed at
    the end. Raises UsageError for an input that no source reads, such as a terminal. Raises
    SourceError for a pipe that is unreadable or empty.
    """
    recipe = with_pipes(recipe)
    if all(endpoint.pipe is None for endpoint in recipe.sources):
        yield recipe
        return
    with contextlib.ExitStack() as stack:
        stack.enter_context(interrupt.orderly())
        scratch = stack.enter_context(tempfile.TemporaryDirectory())
        lacking = storage_errors(scratch, lambda: "set TMPDIR to a directory with more room")
        with working("reading"), lacking:
            read = copied_pipes(recipe, Path(scratch) / COPIES, _step, most=PIPE_BYTES)
            recipe = stack.enter_context(read)
        yield recipe


def _step(pipe: str, size_bytes: int) -> None:
    step(f"{bytes_in_words(size_bytes)} from {printable_line(pipe)}")

"""The sink ``jsonl``: a directory, a file or standard output, depending on its location."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import attrs
import polars as pl

from harvest import PartFile, PartWriter, Publication, RecordType, Sink, UsageError
from harvest.toolkit.settings import setting, within

from .codecs import codec_of
from .directory import JsonlDirectory
from .file import JsonlFile
from .plugin import SUFFIXES
from .standard_output import NAMES, JsonlOutput

_LEVELS = {"gz": (1, 9), "zst": (1, 22)}


@attrs.frozen(kw_only=True)
class Config:
    """Settings of the sink ``jsonl``."""

    level: int | None = setting(
        "Compression level of .gz (1 to 9, else 6) or .zst (1 to 22, else 3).",
        check=within(1, 22),
    )


class JsonlSink(Sink):
    """A sink that writes a directory of parts, one file, or standard output.

    ``jsonl:DIR`` writes ``DIR/<record type>/<part>.jsonl``. ``jsonl:FILE.jsonl``, ``.jsonl.gz`` and
    ``.jsonl.zst`` (or ``.ndjson``) write one file in the shape of the events model. ``jsonl:-``
    writes lines of the same shape to standard output, as rows are read.
    """

    name = "jsonl"
    Config = Config

    def __init__(self, location: str, config: Any = None):
        super().__init__(location, config)
        form: type[Sink] = JsonlDirectory
        if location in NAMES:
            form = JsonlOutput
        elif PurePath(location).name.endswith(SUFFIXES):
            form = JsonlFile
        self._form: Sink = form(location, self.config)
        self.streams = self._form.streams

    @property
    def root(self) -> Path:
        """The directory of parts, or the directory that contains the file."""
        return self._form.root

    @property
    def state(self) -> Path:
        """State directory: ``DIR/_harvest`` or ``FILE._harvest``."""
        return self._form.state

    def held_in(self, file: PartFile) -> Path:
        """Return the path of a file, or of the file that holds a piece."""
        return self._form.held_in(file)

    def check(self) -> None:
        """Raise UsageError if the location cannot be written, or not with these settings."""
        name = PurePath(self.location).name
        if isinstance(self._form, JsonlDirectory) and any(
            f"{suffix}." in name for suffix in (".jsonl", ".ndjson")
        ):
            problem = "the ending names an unknown compression"
            remedy = "use one of " + ", ".join(SUFFIXES)
            raise UsageError(problem, where=self.location, remedy=remedy)
        low, high = _LEVELS.get(codec_of(name), (1, 22))
        if self.config.level is not None and not low <= self.config.level <= high:
            problem = f"level {self.config.level} is not one of {low} to {high}"
            raise UsageError(problem, where=self.location, remedy="set jsonl.level to one of these")
        self._form.check()

    def writer(self, staging: Path, part: str) -> PartWriter:
        """Return a writer of one partition."""
        return self._form.writer(staging, part)

    def publish(self, publication: Publication) -> Mapping[str, Sequence[PartFile]]:
        """Publish staged files and sync them to disk."""
        return self._form.publish(publication)

    def finish(self, publication: Publication) -> None:
        """Remove files that the manifest no longer names."""
        self._form.finish(publication)

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        """Return the rows of one record type as a lazy frame."""
        return self._form.scan(files, record_type)

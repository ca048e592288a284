"""The sink ``jsonl``: a directory, a file or standard output, depending on its location."""

from pathlib import PurePath
from typing import Any

import attrs

from harvest import Sink, UsageError
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
        "Compression level of .gz (1 to 9, else 6) or .zst (1 to 22, else 3).", check=within(1, 22)
    )


def _of_form(name: str) -> Any:
    """Return a property: this part of a sink, as the sink of the location's form has it."""
    return property(lambda sink: getattr(sink._form, name), doc=getattr(Sink, name).__doc__)


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

    root, state, held_in = map(_of_form, ("root", "state", "held_in"))
    writer, publish, finish, scan = map(_of_form, ("writer", "publish", "finish", "scan"))

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

"""The choice of views to export, their rows, and comments on columns."""

import contextlib
import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Self

import attrs
import polars as pl

from harvest import Dataset, UsageError
from harvest.commands import remark
from harvest_toolkit.choices import with_settings

ALL: Final = "all"
NONE: Final = "none"


@attrs.frozen
class ViewChoice:
    """A view with its settings, in the order in which they were given.

    of_all: whether only ``all`` selects it.
    """

    name: str
    settings: Mapping[str, str] = attrs.field(factory=dict)
    of_all: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``NAME`` or ``NAME:KEY=VALUE,KEY=VALUE``; raises UsageError for other text."""
        return cls(*with_settings(text, "--view"))

    @property
    def label(self) -> str:
        """The text that ``parse`` reads, which is also the name of the view's table."""
        given = ",".join(f"{key}={value}" for key, value in self.settings.items())
        return f"{self.name}:{given}" if given else self.name


def views_named(dataset: Dataset, views: str | Iterable[str] | None) -> list[ViewChoice] | None:
    """Parse a setting that names views, each once; None if the setting is not given.

    Raises UsageError for a text that names no view.
    """
    if views is None:
        return None
    texts = views.split(";") if isinstance(views, str) else list(views)
    texts = [text.strip() for text in texts if text.strip()]
    if NONE in texts:
        if len(texts) > 1:
            raise UsageError("both none and a view are named", remedy="leave one of them out")
        return []
    chosen = [each for text in texts if text != ALL for each in [ViewChoice.parse(text)]]
    for each in chosen:
        dataset.plugins.view(each.name)
    found = {each.label: each for each in chosen}
    if ALL in texts:
        found = {name: ViewChoice(name, of_all=True) for name in sorted(dataset.views())} | found
    return list(found.values())


@contextlib.contextmanager
def stored_view(dataset: Dataset, view: ViewChoice) -> Iterator[tuple[pl.LazyFrame, str] | None]:
    """Compute a view once, into a temporary file; gives its rows and their digest.

    None if only ``all`` selects the view and it needs a setting; a remark says so.
    """
    with tempfile.TemporaryDirectory(prefix="harvest-") as scratch:
        made, found = Path(scratch) / "view.arrow", None
        try:
            dataset.view(view.name, **view.settings).sink_ipc(made, compression="lz4")
            with made.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            found = pl.scan_ipc(made), digest
        except UsageError as error:
            if not view.of_all:
                raise
            remark(f"the view {view.name} is left out: {error}")
        yield found


def _plain(doc: str | None) -> str:
    """Join documentation into one paragraph, without markup."""
    return " ".join((doc or "").replace("``", "").split())


def column_comments(
    dataset: Dataset, name: str, settings: Mapping[str, str] | None = None
) -> tuple[str, dict[str, str]]:
    """Describe the rows of a record type or view, and each column with its unit."""
    described = dataset.describe(name, **(settings or {}))
    columns = {
        column.name: " ".join(
            filter(None, [_plain(column.doc), f"[{column.unit}]" if column.unit else ""])
        )
        for column in described.columns
    }
    return _plain(described.doc), columns

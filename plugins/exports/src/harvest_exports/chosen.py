"""What of a dataset is exported: its record types, and the views that were asked for."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs

from harvest import Dataset, UsageError
from harvest.commands import remark
from harvest_toolkit.choices import with_settings

ALL: Final = "all"
NONE: Final = "none"


@attrs.frozen
class ViewChoice:
    """A view with its settings, in the order in which they were given.

    of_all: whether nothing asks for it but ``all``.
    """

    name: str
    settings: Mapping[str, str] = attrs.field(factory=dict)
    of_all: bool = False

    @classmethod
    def parse(cls, text: str) -> ViewChoice:
        """From ``NAME`` or ``NAME:KEY=VALUE,KEY=VALUE``; raises UsageError for anything else."""
        return cls(*with_settings(text, "--view"))

    @property
    def label(self) -> str:
        """The text that ``parse`` takes; names the table of these rows."""
        given = ",".join(f"{key}={value}" for key, value in self.settings.items())
        return f"{self.name}:{given}" if given else self.name


def views_named(dataset: Dataset, views: str | Iterable[str] | None) -> list[ViewChoice] | None:
    """The views that a setting names, each once; None where it is not given.

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
def stored_view(dataset: Dataset, view: ViewChoice) -> Iterator[Path | None]:
    """The rows of a view in an Arrow file, as long as the context lasts: it is computed once.

    None where only ``all`` asks for it and it wants a choice of its own, which is said.
    """
    with tempfile.TemporaryDirectory(prefix="harvest-") as scratch:
        made = Path(scratch) / "view.arrow"
        try:
            dataset.view(view.name, **view.settings).sink_ipc(made, compression="lz4")
            path: Path | None = made
        except UsageError as error:
            if not view.of_all:
                raise
            remark(f"the view {view.name} is left out: {error}")
            path = None  # a beginning may be there
        yield path


def _plain(doc: str | None) -> str:
    """Documentation in one paragraph, without the marks of its source."""
    return " ".join((doc or "").replace("``", "").split())


def column_comments(
    dataset: Dataset, name: str, settings: Mapping[str, str] | None = None
) -> tuple[str, dict[str, str]]:
    """What the rows of a record type or a view are, and what each column means, with its unit."""
    described = dataset.describe(name, **(settings or {}))
    columns = {
        column.name: " ".join(
            filter(None, [_plain(column.doc), f"[{column.unit}]" if column.unit else ""])
        )
        for column in described.columns
    }
    return _plain(described.doc), columns

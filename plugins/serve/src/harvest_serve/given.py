"""Settings of views and reports that are given when a server starts; these may be files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import polars as pl

from harvest import Dataset, ReportSpec, UsageError, View
from harvest.commands.options import plugin_settings
from harvest.errors import suggestion
from harvest.plugins import PluginManager

from .settings import offered_settings


@attrs.frozen
class Given:
    """Settings by a name and a key: ``{"ncem": {"study": "study.toml"}}``.

    A name is that of a view or report, or how some begin: ``ncem`` means ``ncem.comparison``, too.
    """

    values: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)

    @classmethod
    def parse(cls, texts: Iterable[str] | None) -> Given:
        """Read ``NAME.KEY=VALUE`` texts; raises HarvestError for another text."""
        values: dict[str, dict[str, str]] = {}
        for first, given in plugin_settings(texts).items():
            for rest, value in given.items():
                name, _, key = f"{first}.{rest}".rpartition(".")
                values.setdefault(name, {})[key] = value
        return cls(values)

    def of(self, spec: View | ReportSpec) -> dict[str, str]:
        """The settings that a view or report takes; those of a longer name count more."""
        found: dict[str, str] = {}
        for name in sorted(self.values, key=len):
            if _means(name, spec.name):
                given = self.values[name].items()
                found |= {key: value for key, value in given if key in spec.settings}
        return found

    def in_words(self, spec: View | ReportSpec | None = None) -> str:
        """The settings that a view or report takes, or all of them; a file by its name alone."""
        given = {f"{name}.{key}": v for name, of in self.values.items() for key, v in of.items()}
        shown = given if spec is None else self.of(spec)
        return ", ".join(f"{key} = {_shown(value)}" for key, value in shown.items())

    def check(self, plugins: PluginManager) -> None:
        """Raise UsageError for an unknown view, report or setting, and for a missing file."""
        specs: list[View | ReportSpec] = [*plugins.views.values(), *plugins.reports.values()]
        for name, given in self.values.items():
            meant = [spec for spec in specs if _means(name, spec.name)]
            if not meant:
                known = {spec.name for spec in specs} | {s.name.partition(".")[0] for s in specs}
                raise UsageError(
                    f"no view or report is named {name!r}, or begins with it",
                    where=f"--set {name}.{next(iter(given))}",
                    remedy=suggestion(name, known),
                )
            for key, value in given.items():
                _check(name, key, value, meant)


NOTHING: Final = Given()
"""No settings."""


def _shown(value: str) -> str:
    path = Path(value)
    return path.name if path.expanduser().exists() else value


def _means(name: str, spec: str) -> bool:
    return f"{spec}.".startswith(f"{name}.")


def _check(name: str, key: str, value: str, meant: Iterable[View | ReportSpec]) -> None:
    takers = [spec for spec in meant if key in spec.settings]
    if not takers:
        raise UsageError(
            f"no view or report of {name} has a setting {key!r}",
            where=f"--set {name}.{key}",
            remedy=suggestion(key, {each for spec in meant for each in spec.settings}),
        )
    is_file = any(key not in offered_settings(spec) for spec in takers)
    if is_file and not Path(value).expanduser().exists():
        raise UsageError(
            f"there is no file {value!r}", where=f"--set {name}.{key}", remedy="check the path"
        )


class GivenDataset(Dataset):
    """A dataset whose views and reports have the given settings, unless a question has its own."""

    given: Given

    @classmethod
    def of(cls, dataset: Dataset, given: Given) -> Dataset:
        """The same dataset, with these settings."""
        made = cls(dataset.sink, dataset.manifest, dataset.plugins)
        made.given = given
        return made

    def view(self, name: str, /, **settings: Any) -> pl.LazyFrame:
        """A view's rows."""
        return super().view(name, **{**self.given.of(self.plugins.view(name)), **settings})

    def report(self, name: str, /, **settings: Any) -> Any:
        """A report over this dataset."""
        return super().report(name, **{**self.given.of(self.plugins.report(name)), **settings})

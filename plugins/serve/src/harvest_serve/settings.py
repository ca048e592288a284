"""Settings of views and reports: those of a request, and those that a server starts with.

The latter may be files. A recipe means the datasets that it writes; its table ``[serve]`` has
settings for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from pathlib import Path
from types import EllipsisType, NoneType
from typing import Any, Final, get_args

import attrs
import polars as pl

from harvest import ConfigError, Dataset, Recipe, ReportSpec, Setting, UsageError, View
from harvest.commands.declared import settings_of
from harvest.commands.options import plugin_settings
from harvest.errors import suggestion
from harvest.plugins import PluginManager, manager

_PLAIN: Final = (bool, int, float, str, date, datetime)


def offered_settings(of: View | ReportSpec) -> dict[str, Setting]:
    """Return the settings that a request may give: numbers, texts, times and booleans.

    Any other setting may be the path of a file, and the server opens no file for a request.
    """
    return {name: each for name, each in of.settings.items() if _is_plain(each.type)}


def _is_plain(kind: Any) -> bool:
    inner = [each for each in get_args(kind) if each not in (Ellipsis, EllipsisType, NoneType)]
    return all(map(_is_plain, inner)) if inner else kind in _PLAIN


def check_settings(of: View | ReportSpec, given: Mapping[str, Any]) -> None:
    """Raise UsageError for a declared setting that a request may not give."""
    for name in given:
        if name in of.settings and name not in offered_settings(of):
            raise UsageError(
                f"{name} of {of.name} may be a file, and the server opens none for a request",
                where=name,
                remedy=f"give it when the server starts: --set {of.name}.{name}=FILE",
            )


def settings_in_words(of: View | ReportSpec) -> list[dict[str, Any]]:
    """Describe the settings that a request may give, for programs."""
    offered = offered_settings(of)
    return [
        {
            "name": shown.name,
            "doc": shown.doc,
            "type": getattr(each.type, "__name__", str(each.type)),
            "default": shown.default,
            "choices": each.choices,
            "allowed": each.allowed,
        }
        for shown, each in zip(settings_of(offered), offered.values(), strict=True)
    ]


def settings_key(settings: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    """Return settings as a hashable part of a cache key."""
    return tuple(sorted((key, str(value)) for key, value in (settings or {}).items()))


@attrs.frozen
class Given:
    """Settings by name and key: ``{"ncem.study": "study.toml"}``.

    A name is that of a view or report, or a prefix of some: ``ncem`` includes ``ncem.comparison``.
    """

    values: Mapping[str, Any]

    @classmethod
    def parse(cls, texts: Iterable[str] | None) -> Given:
        """Read ``NAME.KEY=VALUE`` texts; raises HarvestError for another text."""
        return cls(dict(_by_dots(plugin_settings(texts))))

    @classmethod
    def of_recipe(cls, recipe: Recipe, where: str) -> Given:
        """Read ``set.NAME.KEY = VALUE`` of ``[serve]``; raises ConfigError for any other key."""
        table = dict(_by_dots(recipe.commands.get("serve", {})))
        for word in table:
            if word.count(".") < 2:
                raise ConfigError(
                    f"[serve] {word} is not a setting",
                    where=where,
                    remedy='write set.NAME.KEY = VALUE, for example set.ncem.study = "study.toml"',
                )
        return cls({word.removeprefix("set."): value for word, value in table.items()})

    def of(self, spec: View | ReportSpec) -> dict[str, Any]:
        """Return the settings that a view or report takes; those of a longer name win."""
        return {
            key: value
            for name, key, value in sorted(self._split(), key=lambda each: len(each[0]))
            if _means(name, spec.name) and key in spec.settings
        }

    def _split(self) -> Iterator[tuple[str, str, Any]]:
        for word, value in self.values.items():
            name, _, key = word.rpartition(".")
            yield name, key, value

    def in_words(self, spec: View | ReportSpec | None = None) -> str:
        """Describe the settings that a view or report takes, or all; show a file's name only."""
        shown = self.values if spec is None else self.of(spec)
        return ", ".join(f"{key} = {_shown(value)}" for key, value in shown.items())

    def check(self, plugins: PluginManager, where: str) -> None:
        """Raise UsageError for an unknown view, report or setting, and for a missing file.

        where: the prefix of setting names in errors.
        """
        specs: list[View | ReportSpec] = [*plugins.views.values(), *plugins.reports.values()]
        for name, key, value in self._split():
            here = f"{where}{name}.{key}"
            meant = [spec for spec in specs if _means(name, spec.name)]
            if not meant:
                known = {spec.name for spec in specs} | {s.name.partition(".")[0] for s in specs}
                raise UsageError(
                    f"no view or report is named {name!r}, or begins with it",
                    where=here,
                    remedy=suggestion(name, known),
                )
            takers = [spec for spec in meant if key in spec.settings]
            if not takers:
                raise UsageError(
                    f"no view or report of {name} has a setting {key!r}",
                    where=here,
                    remedy=suggestion(key, {each for spec in meant for each in spec.settings}),
                )
            may_be_file = any(key not in offered_settings(spec) for spec in takers)
            if may_be_file and isinstance(value, str) and not Path(value).expanduser().exists():
                raise UsageError(f"no such file: {value!r}", where=here, remedy="check the path")


def _by_dots(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of nested tables with dotted keys: ``set.ncem.study``."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _by_dots(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _shown(value: Any) -> str:
    path = Path(str(value))
    return path.name if path.expanduser().exists() else str(value)


def _means(name: str, spec: str) -> bool:
    return f"{spec}.".startswith(f"{name}.")


def asked_for(datasets: Iterable[Path], settings: Iterable[str] | None) -> list[tuple[Path, Given]]:
    """Return the datasets of a command line and of its recipes (``.toml``), with their settings.

    Settings of the command line win. Raises HarvestError for settings and recipes that do not fit.
    """
    plugins, on_top = manager(), Given.parse(settings)
    on_top.check(plugins, "--set ")
    found: list[tuple[Path, Given]] = []
    for path in datasets:
        if path.suffix != ".toml":
            found.append((path, on_top))
            continue
        recipe = Recipe.load(path)
        given = Given.of_recipe(recipe, str(path))
        given.check(plugins, f"{path}: [serve] set.")
        written = [Path(sink.location) for sink in recipe.sinks if sink.location != "-"]
        if not written:
            raise UsageError(
                "this recipe writes no dataset", where=str(path), remedy="name the dataset instead"
            )
        merged = Given({**given.values, **on_top.values})
        found += [(each, merged) for each in written]
    return found


class GivenDataset(Dataset):
    """A dataset whose views and reports have the given settings, unless a call overrides them."""

    given: Given

    @classmethod
    def of(cls, dataset: Dataset, given: Given) -> GivenDataset:
        """Return the same dataset with these settings."""
        made = cls(dataset.sink, dataset.manifest, dataset.plugins)
        made.given = given
        return made

    def view(self, name: str, /, **settings: Any) -> pl.LazyFrame:
        """Return a view's rows."""
        return super().view(name, **{**self.given.of(self.plugins.view(name)), **settings})

    def report(self, name: str, /, **settings: Any) -> Any:
        """Return a report of this dataset."""
        return super().report(name, **{**self.given.of(self.plugins.report(name)), **settings})

"""Actions after a commit: exports that the recipe names, and notification of plugins.

An exporter compares its target with the dataset. It therefore also catches up with exports that an
earlier run missed, whether or not this run committed something.
"""

import contextlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Final

import attrs

from harvest.api.sink import Sink
from harvest.errors import ConfigError, DatasetChanged, HarvestError, system_reason
from harvest.plugin_code import contained
from harvest.plugins.building import check_settings
from harvest.plugins.registered import resolve
from harvest.plugins.registry import PluginManager
from harvest.recipes.recipe import Recipe
from harvest.storage.target import manifest_of
from harvest.toolkit.texts import printable_line

from .result import RunResult

_DATASET: Final = "harvest.dataset:Dataset"
"""Class that exporters and listeners receive; imported only for those that use it."""

_PASSWORD: Final = re.compile(r"(:/{1,2}[^/@:\s]*:)[^/@\s]*(?=@)|([?&]\w*password=)[^&\s]*")


def without_password(text: str) -> str:
    """Return a text for display: hide passwords in addresses."""
    return _PASSWORD.sub(r"\1\2***", text)


def check_exports(recipe: Recipe, plugins: PluginManager) -> None:
    """Raise UsageError for an export with an unknown exporter, or with an unknown setting."""
    for name, target in map(_parts, recipe.export):
        if not (name and target):
            raise ConfigError(
                f"export {name or target!r} lacks a name or a target", remedy="write NAME:TARGET"
            )
        check_settings("exporter", plugins.exporter(name), recipe.settings.get(name, {}))


def _parts(text: str) -> tuple[str, str]:
    """Split an export into exporter and target; the scheme of an address names the exporter."""
    name, _, target = text.partition(":")
    return name, text if target.startswith("//") else target


def export_all(recipe: Recipe, sink: Sink, plugins: PluginManager) -> Mapping[str, str | None]:
    """Export a dataset, even if others write to it; return for each why it failed, or None."""
    return {without_password(text): _export(text, recipe, sink, plugins) for text in recipe.export}


def _export(text: str, recipe: Recipe, sink: Sink, plugins: PluginManager) -> str | None:
    name, target = _parts(text)
    for _ in range(10):
        try:
            with contained():
                dataset = resolve(_DATASET)(sink, manifest_of(sink), plugins)
                dataset.export(name, target, **recipe.settings.get(name, {}))
        except DatasetChanged:
            continue
        except HarvestError as error:
            return without_password(str(error))
        except OSError as error:
            return without_password(f"{error.filename or name}: {system_reason(error)}")
        except Exception as error:  # noqa: BLE001 - third-party code; the commit stands
            return without_password(f"{type(error).__name__}: {error}; {plugins.blame(error)}")
        return None
    return "other runs kept writing to the dataset"


@contextlib.contextmanager
def announcing(
    plugins: PluginManager, exports: Callable[[], Mapping[str, str | None]] = dict
) -> Iterator[Callable[[Sink, RunResult | None], None]]:
    """Collect commits; at the end run exports and announce each commit, even after errors."""
    commits: list[tuple[Sink, RunResult | None]] = []
    made: Mapping[str, str | None] = {}
    try:
        yield lambda sink, result: commits.append((sink, result))
        made = exports()
    finally:
        for sink, result in commits:
            result = result and attrs.evolve(result, exports=made)
            opened = cache(lambda s=sink: resolve(_DATASET)(s, manifest_of(s), plugins))
            for text in plugins.announce(sink.location, opened, result):
                print(f"harvest: {printable_line(text)}", file=sys.stderr, flush=True)

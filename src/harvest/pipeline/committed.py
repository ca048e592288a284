"""Letting plugins hear of commits, once nothing is locked any more."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping

import attrs

from harvest.api.sink import Sink
from harvest.errors import HarvestError
from harvest.plugins.registered import resolve
from harvest.plugins.registry import PluginManager
from harvest.storage.target import manifest_of
from harvest.toolkit.texts import printable_line

from .exporting import DATASET
from .result import RunResult


@contextlib.contextmanager
def announcing(
    plugins: PluginManager, exports: Callable[[], Mapping[str, str | None]] = dict
) -> Iterator[Callable[[Sink, RunResult | None], None]]:
    """Take note of commits; then make exports, and let plugins hear of each, whatever failed."""
    commits: list[tuple[Sink, RunResult | None]] = []
    made: Mapping[str, str | None] = {}
    try:
        yield lambda sink, result: commits.append((sink, result))
        made = exports()
    finally:
        for sink, result in commits if plugins.listeners() else ():
            result = result and attrs.evolve(result, exports=made)
            try:
                dataset = resolve(DATASET)(sink, manifest_of(sink), plugins)
                failed = plugins.announce(dataset, result)
            except HarvestError as error:  # somebody has damaged it meanwhile
                failed = [f"plugins cannot hear of the commit: {error}"]
            for text in failed:
                print(f"harvest: {printable_line(text)}", file=sys.stderr, flush=True)

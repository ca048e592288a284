"""Letting plugins hear of commits, once nothing is locked any more."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Final

from harvest.api.sink import Sink
from harvest.errors import HarvestError
from harvest.plugins.registered import resolve
from harvest.plugins.registry import PluginManager
from harvest.storage.target import manifest_of
from harvest.toolkit.texts import printable_line

from .result import RunResult

DATASET: Final = "harvest.dataset:Dataset"
"""What listeners are given; imported only where a plugin listens, as what plugins declare is."""


@contextlib.contextmanager
def announcing(plugins: PluginManager) -> Iterator[Callable[[Sink, RunResult | None], None]]:
    """Take note of commits; at the end plugins hear of each, whatever failed after it."""
    commits: list[tuple[Sink, RunResult | None]] = []
    try:
        yield lambda sink, result: commits.append((sink, result))
    finally:
        for sink, result in commits if plugins.listeners() else ():
            try:
                dataset = resolve(DATASET)(sink, manifest_of(sink), plugins)
                failed = plugins.announce(dataset, result)
            except HarvestError as error:  # somebody has damaged it meanwhile
                failed = [f"plugins cannot hear of the commit: {error}"]
            for text in failed:
                print(f"harvest: {printable_line(text)}", file=sys.stderr, flush=True)

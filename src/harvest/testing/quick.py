"""Running the quick promises of a kit without pytest."""

from __future__ import annotations

import inspect
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .promise import BrokenPromise

__all__ = ["keep"]


def keep(kit: Any) -> Iterator[tuple[str, str, str]]:
    """Each quick promise of a conformance object: (promise, kept, broken or skipped, detail)."""
    for name in dir(kit):
        test = getattr(kit, name)
        if not (name.startswith("test_") and getattr(test, "quick", False)):
            continue
        wanted = inspect.signature(test).parameters
        chosen: dict[str, list[str]] = {"": [""]}
        for parameter, choices in kit.choices().items():
            if parameter in wanted:
                chosen = {parameter: choices}
        ((parameter, choices),) = chosen.items()
        for choice in choices:
            words = f"{test.promise} ({choice})" if choice else test.promise
            given = {parameter: choice} if choice else {}
            yield (words, *_outcome(test, given, directory="tmp_path" in wanted))


def _outcome(test: Any, given: dict[str, str], *, directory: bool) -> tuple[str, str]:
    with tempfile.TemporaryDirectory(prefix="harvest-check-") as made:
        if directory:
            given = {**given, "tmp_path": Path(made)}  # type: ignore[dict-item]
        try:
            test(**given)
        except unittest.SkipTest as reason:
            return "skipped", str(reason)
        except BrokenPromise as error:
            return "broken", f"{error.seen}\n{error.remedy}"
        # whatever a stranger's plugin raises is an answer, too
        except Exception as error:  # noqa: BLE001
            return "broken", f"{type(error).__name__}: {error}"
    return "kept", ""

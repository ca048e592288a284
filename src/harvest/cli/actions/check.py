"""``harvest plugins check``: which promises of plugins are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harvest.cli.tables import print_json, print_lines, print_text
from harvest.errors import UsageError
from harvest.plugins.registry import manager
from harvest.toolkit.amounts import count_in_words

from .authors import of_authors

__all__ = ["check_plugins"]

INDENT = " " * 9
"""Below the first word of a line."""


def check_plugins(names: Sequence[str], sample: Path | None, *, json: bool) -> int:
    """Try what plugins promise, and print what became of it; 1 on a problem."""
    check_promises = of_authors("check:check_promises")
    found = manager()
    names = [found.add_file(Path(n)).name if n.endswith(".py") else n for n in names]
    known = [*found.plugins, *found.broken]
    for name in names:
        if name not in known:
            remedy = found.remedy(name, known, "plugin", "source", "sink")
            raise UsageError(f"unknown plugin {name!r}", remedy=remedy)
    if sample is not None and len(names) != 1:
        raise UsageError("a sample is for one plugin", remedy="name the plugin that can read it")
    results: dict[str, list[Any]] = {}
    for name in sorted(names or known):
        results[name] = []
        for finding in check_promises(found, name, sample=sample):
            results[name].append(finding)
            shown = ("kept", "broken") if names else ("broken",)
            if not json and finding.result in shown:
                _print_finding(name, finding)
        if not json:
            _sum_up(name, results[name], reasons=bool(names))
    if json:
        keys = ("about", "promise", "result", "detail")
        print_json(
            {n: [{k: getattr(f, k) for k in keys} for f in all_] for n, all_ in results.items()}
        )
    return 1 if any(f.result == "broken" for all_ in results.values() for f in all_) else 0


def _print_finding(name: str, finding: Any) -> None:
    word = {"kept": "ok", "broken": "FAILED"}[finding.result]
    print_text(f"{word:<8} {name}: {finding.about}: {finding.promise}", INDENT)
    print_lines(f"{INDENT}{line}" for line in finding.detail.splitlines())


def _sum_up(name: str, findings: list[Any], *, reasons: bool) -> None:
    count = Counter(finding.result for finding in findings)
    if reasons:
        untried = Counter((f.about, f.detail) for f in findings if f.result == "skipped")
        for (about, why), times in untried.items():
            promises = count_in_words(times, "promise")
            print_text(f"{'skipped':<8} {name}: {about}: {promises}: {why}", INDENT)
    print(
        f"{name}: {count['kept']} promises kept, {count['broken']} broken, "
        f"{count['skipped']} not tried"
    )

"""Build a report on a dataset: check settings, call the plugin, add the dataset's context."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs

from harvest.errors import DatasetError, PluginError
from harvest.findings import Verdict, evaluate
from harvest.plugins.building import call, check_settings, refusing
from harvest.plugins.registry import PluginManager

if TYPE_CHECKING:
    from .dataset import Dataset


@attrs.frozen(kw_only=True, eq=False)
class ReportContext:
    """The context that a dataset adds to a report built by a plugin.

    name: declared name of the report.
    facts: pairs of name and text: the dataset, its rows, the settings.
    gaps: what the report lacks: input that could not be read, and record types that it reads and
        the dataset does not hold; each with a command.
    location: location of the dataset, for the evidence of findings.
    judge: function that checks the rules of the report.
    reading: context manager for reading the dataset after the report was built.
    """

    name: str
    facts: tuple[tuple[str, str], ...]
    gaps: tuple[str, ...]
    location: str
    judge: Callable[[], Verdict | None]
    reading: Callable[[], AbstractContextManager[None]]

    @cached_property
    def verdict(self) -> Verdict | None:
        """Findings of the rules that name the report; None without rules."""
        return self.judge()


def build_report(dataset: Dataset, name: str, settings: Mapping[str, Any]) -> Any:
    """Build a report on a dataset; the plugin's own class completes it.

    Raises UsageError for an unknown report or setting. Raises DatasetError if the dataset has none
    of the record types that the report reads.
    """
    spec = dataset.plugins.report(name)
    check_settings("report", spec, settings)
    absent = [kind for kind in spec.requires if kind not in dataset]
    gaps = _gaps(absent, dataset.plugins)
    if spec.requires and len(absent) == len(spec.requires):
        problem = f"report {name!r} needs rows that this dataset lacks"
        raise DatasetError(problem, where=dataset.sink.location, remedy="; ".join(gaps))
    report = call("report", spec, spec.build, (dataset,), settings)
    if not callable(getattr(report, "completed", None)):
        raise PluginError(
            f"report {name!r} gave a {type(report).__name__}, not a report: "
            "it has no method completed(context)",
            remedy=f"ask the author of {dataset.plugins.owner(spec).distribution} to correct it",
        )

    def judge() -> Verdict | None:
        rules = [rule for rule in dataset.plugins.rules.values() if name in rule.reports]
        if not rules:
            return None
        with dataset.reading():
            return evaluate(dataset, dataset.plugins, rules=rules, settings=settings)

    @contextmanager
    def reading() -> Iterator[None]:
        with dataset.reading(), refusing("report", spec, settings):
            yield

    context = ReportContext(
        name=name,
        facts=_facts(dataset, settings),
        gaps=(*dataset.unread(spec.requires), *gaps),
        location=str(dataset.sink.location),
        judge=judge,
        reading=reading,
    )
    return report.completed(context)


def _gaps(absent: Sequence[str], plugins: PluginManager) -> list[str]:
    """Say once for each remedy which record types it brings: ``slurm.job: harvest with ...``."""
    names: dict[str, list[str]] = {}
    install = "no installed source brings it; install the plugin that does"
    for kind in absent:
        sources = " or ".join(map(repr, plugins.sources_of(kind)))
        remedy = f"harvest with the source {sources}" if sources else install
        names.setdefault(remedy, []).append(kind)
    return [f"{', '.join(kinds)}: {remedy}" for remedy, kinds in names.items()]


def _facts(dataset: Dataset, settings: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    rows = ", ".join(f"{kind} {count:,}" for kind, count in dataset.record_types.items())
    facts = [("Dataset", str(dataset.sink.location)), ("Rows", rows)]
    if settings:
        facts.append(("Settings", ", ".join(f"{k}={v}" for k, v in settings.items())))
    return tuple(facts)

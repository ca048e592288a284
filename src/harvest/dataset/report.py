"""A report of a dataset: it is checked, built by its plugin, and given what the dataset knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import attrs

from harvest.errors import DatasetError, PluginError
from harvest.findings import Verdict, evaluate
from harvest.model import record_type as declared
from harvest.plugins.building import build, check_settings, refusing
from harvest.plugins.registry import PluginManager

if TYPE_CHECKING:
    from .dataset import Dataset


@attrs.frozen(kw_only=True, eq=False)
class ReportContext:
    """What a dataset knows of a report that a plugin has built of it.

    name: of the report, as it is declared.
    facts: what it was made from, each a name and a text: the dataset, its rows, the settings.
    gaps: record types that the report reads and the dataset lacks, with what brings them.
    location: of the dataset, where the evidence of findings lies.
    judge: asks the rules that name the report.
    reading: the context in which a report reads the dataset after it was built.
    """

    name: str
    facts: tuple[tuple[str, str], ...]
    gaps: tuple[str, ...]
    location: str
    judge: Callable[[], Verdict | None]
    reading: Callable[[], AbstractContextManager[None]]

    @cached_property
    def verdict(self) -> Verdict | None:
        """What the rules that name the report conclude; None where there are none."""
        return self.judge()


@runtime_checkable
class _Built(Protocol):
    """What the function of a report gives."""

    def completed(self, context: ReportContext) -> Any:
        """The report with what the dataset knows of it; this is what ``Dataset.report`` gives."""


def build_report(dataset: Dataset, name: str, settings: Mapping[str, Any]) -> Any:
    """The report of this name over a dataset, as the plugin's own class completes it.

    Raises UsageError for an unknown report or setting, DatasetError when the dataset holds none
    of the record types that it reads.
    """
    spec = dataset.plugins.report(name)
    check_settings("report", spec, settings)
    absent = [kind for kind in spec.requires if kind not in dataset]
    gaps = _gaps(absent, dataset.plugins)
    if spec.requires and len(absent) == len(spec.requires):
        raise DatasetError(
            f"report {name!r} needs rows that this dataset lacks",
            where=dataset.sink.location,
            remedy="; ".join(gaps),
        )
    report = build("report", spec, dataset, settings)
    if not isinstance(report, _Built):
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

    return report.completed(
        ReportContext(
            name=name,
            facts=_facts(dataset, settings),
            gaps=tuple(gaps),
            location=str(dataset.sink.location),
            judge=judge,
            reading=reading,
        )
    )


def _gaps(absent: Sequence[str], plugins: PluginManager) -> list[str]:
    """What brings record types, each once: ``slurm.job: harvest with the source 'slurm'``."""
    names: dict[str, list[str]] = {}
    for kind in absent:
        names.setdefault(_remedy(kind, plugins), []).append(kind)
    return [f"{', '.join(kinds)}: {remedy}" for remedy, kinds in names.items()]


def _remedy(record_type: str, plugins: PluginManager) -> str:
    bringing = []
    for source, spec in plugins.sources.items():
        try:
            kinds = {declared(cls).name for cls in plugins.load(spec).record_types}
        except PluginError:
            continue  # `harvest plugins` says what is wrong with it
        if record_type in kinds:
            bringing.append(source)
    if bringing:
        return "harvest with the source " + " or ".join(map(repr, bringing))
    return "no installed source brings it; install the plugin that does"


def _facts(dataset: Dataset, settings: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    rows = ", ".join(f"{kind} {count:,}" for kind, count in dataset.record_types.items())
    facts = [("Dataset", str(dataset.sink.location)), ("Rows", rows)]
    if settings:
        facts.append(("Settings", ", ".join(f"{k}={v}" for k, v in settings.items())))
    return tuple(facts)

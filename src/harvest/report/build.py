"""Building a report of a dataset: the request is checked, the plugin builds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from harvest.errors import DatasetError, PluginError
from harvest.findings import evaluate
from harvest.model import record_type as declared
from harvest.plugins.building import build, check_settings
from harvest.plugins.registry import PluginManager

from .model import Notes
from .report import Report

if TYPE_CHECKING:
    from harvest.dataset import Dataset

__all__ = ["build_report"]


def build_report(dataset: Dataset, name: str, settings: Mapping[str, Any]) -> Report:
    """The report of this name over a dataset.

    Raises UsageError for an unknown report or setting, DatasetError when the dataset holds none
    of the record types that it reads.  Where some are absent, a note of the report says so.
    It begins with what the rules that name it conclude.
    """
    spec = dataset.plugins.report(name)
    check_settings("report", spec, settings)
    absent = [kind for kind in spec.requires if kind not in dataset]
    gaps = _gaps(absent, dataset.plugins)
    if spec.requires and len(absent) == len(spec.requires):
        raise DatasetError(
            f"report {name!r} reads what is not in this dataset",
            where=dataset.sink.location,
            remedy="; ".join(gaps),
        )
    report = build("report", spec, dataset, settings)
    if not isinstance(report, Report):
        raise PluginError(
            f"report {name!r} gave a {type(report).__name__}, not a harvest.report.Report",
            remedy=f"ask the author of {dataset.plugins.owner(spec).distribution} to correct it",
        )
    sections = report.sections
    if gaps:
        sections += (Notes("not-in-the-dataset", gaps, title="Not in the dataset"),)
    rules = [rule for rule in dataset.plugins.rules.values() if name in rule.reports]
    return attrs.evolve(
        report,
        name=name,
        sections=sections,
        facts=(*report.facts, *_facts(dataset, settings)),
        verdict=evaluate(dataset, dataset.plugins, rules=rules, settings=settings)
        if rules
        else None,
        location=str(dataset.sink.location),
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


def _facts(dataset: Dataset, settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = ", ".join(f"{kind} {count:,}" for kind, count in dataset.record_types.items())
    facts = [("Dataset", str(dataset.sink.location)), ("Rows", rows)]
    if settings:
        facts.append(("Settings", ", ".join(f"{k}={v}" for k, v in settings.items())))
    return facts

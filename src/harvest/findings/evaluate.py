"""Asking rules about a dataset.

The rules that look at one view share one pass over it: the view is built once, and their
conditions choose their rows in one query, so that memory holds the chosen rows alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import polars as pl

from harvest.api.rule import SEVERITIES, Rule
from harvest.api.view import DatasetReader
from harvest.errors import PluginError, UsageError, suggestion
from harvest.plugins.registry import PluginManager, resolve
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.frames import condition
from harvest.toolkit.steps import step

from .model import Evidence, Found, Verdict

__all__ = ["evaluate", "judge", "thresholds_of"]

EVIDENCE_ROWS = 10
"""Rows of evidence that are kept with a finding."""


@attrs.frozen
class _Question:
    """A rule with the thresholds and the settings of its view that it is asked with."""

    rule: Rule
    thresholds: dict[str, float]
    settings: dict[str, Any]

    def condition(self, frame: pl.LazyFrame) -> pl.Expr:
        return condition(self.rule.condition(self.thresholds), frame)


def evaluate(
    dataset: DatasetReader,
    plugins: PluginManager,
    *,
    rules: Iterable[Rule] | None = None,
    thresholds: Mapping[str, Mapping[str, Any]] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Verdict:
    """What rules conclude from a dataset.

    rules: those to ask; all that plugins declare unless given.
    thresholds: by rule and name, in place of the declared ones; numbers, or text that is one.
    settings: of views, as ``run``; each is passed to the views that have it.

    A rule whose view does not take the settings, wants one to choose by, or has no value of
    those that the rule chooses by, is left unjudged.
    Raises UsageError for a threshold of no rule, or one that is not a number.
    """
    given = thresholds or {}
    for name in given:
        plugins.rule(name)
    unjudged: list[tuple[str, str]] = []
    elsewhere: list[str] = []
    groups: dict[tuple[str, tuple[tuple[str, Any], ...]], list[_Question]] = {}
    for rule in plugins.rules.values() if rules is None else rules:
        step(f"rule {rule.name}")
        numbers = thresholds_of(rule, given.get(rule.name, {}))
        view = plugins.views.get(rule.view)
        if view is None:
            unjudged.append((rule.name, f"no installed plugin has the view {rule.view}"))
        elif view.requires and not any(kind in dataset for kind in view.requires):
            elsewhere.append(rule.name)
        elif absent := [kind for kind in rule.requires if kind not in dataset]:
            unjudged.append((rule.name, f"the dataset holds no {', '.join(absent)}"))
        else:
            common = {k: v for k, v in (settings or {}).items() if k in view.settings}
            own = {**common, **rule.settings}
            key = (rule.view, tuple(sorted(own.items())))
            groups.setdefault(key, []).append(_Question(rule, numbers, own))
    found, passed = _answers(dataset, groups.values(), unjudged)
    found.sort(key=lambda f: (SEVERITIES.index(f.finding.severity), f.rule.name))
    return Verdict(
        tuple(found), tuple(sorted(passed)), tuple(sorted(unjudged)), tuple(sorted(elsewhere))
    )


def thresholds_of(rule: Rule, given: Mapping[str, Any]) -> dict[str, float]:
    """The numbers a rule decides by, with some of them given.

    Raises UsageError for one that the rule does not have, or that is not a number.
    """
    numbers = {name: threshold.value for name, threshold in rule.thresholds.items()}
    for name, value in given.items():
        if name not in numbers:
            raise UsageError(
                f"rule {rule.name!r} has no threshold {name!r}",
                remedy=suggestion(name, numbers) if numbers else "it has none",
            )
        try:
            numbers[name] = float(value)
        except (TypeError, ValueError):
            raise UsageError(
                f"{rule.name}.{name}: {value!r} is not a number",
                remedy=rule.thresholds[name].doc,
            ) from None
    return numbers


def judge(rule: Rule, rows: pl.DataFrame, **thresholds: float) -> list[Found]:
    """What a rule concludes from the rows of its view, given as a frame.

    thresholds: in place of the declared ones.
    """
    numbers = thresholds_of(rule, thresholds)
    chosen = rows.filter(condition(rule.condition(numbers), rows)).select(rule.columns)
    return _judged(rule, chosen, rows.height, numbers, dict(rule.settings))


def _answers(
    dataset: DatasetReader,
    groups: Iterable[list[_Question]],
    unjudged: list[tuple[str, str]],
) -> tuple[list[Found], list[str]]:
    """What rules found, and the names of those that found nothing; others go to ``unjudged``."""
    found: list[Found] = []
    passed: list[str] = []
    for group in groups:
        try:
            total, chosen, unknown = _ask(dataset, group)
        except UsageError as error:
            unjudged += [(question.rule.name, str(error)) for question in group]
            continue
        for question, rows, gap in zip(group, chosen, unknown, strict=True):
            rule = question.rule
            if gap is not None:
                unjudged.append((rule.name, gap))
                continue
            some = _judged(rule, rows, total, question.thresholds, question.settings)
            found += some
            passed += [] if some else [rule.name]
    return found, passed


def _ask(
    dataset: DatasetReader, group: list[_Question]
) -> tuple[int, list[pl.DataFrame], list[str | None]]:
    """The rows of a view, those that each rule chooses, and why a rule can choose none.

    The rules look at one view with the same settings.  One that chooses by values that no row of
    the view has cannot judge.
    """
    view = group[0].rule.view
    frame = dataset.view(view, **group[0].settings)
    conditions = [question.condition(frame) for question in group]
    used = sorted({name for c in conditions for name in c.meta.root_names()})
    chosen = [
        frame.filter(c).select(question.rule.columns)
        for c, question in zip(conditions, group, strict=True)
    ]
    counts, judged, known, *rows = pl.collect_all(
        [
            frame.select(pl.len()),
            frame.select(c.is_not_null().any().alias(str(n)) for n, c in enumerate(conditions)),
            frame.select(pl.col(used).is_not_null().any()),
            *chosen,
        ]
    )
    total = int(counts.item())
    unknown = {n for row in known.iter_rows(named=True) for n, some in row.items() if not some}
    gaps = [
        None if total == 0 or yes else _gap(view, set(c.meta.root_names()), unknown, total)
        for c, yes in zip(conditions, judged.row(0), strict=True)
    ]
    return total, rows, gaps


def _gap(view: str, used: set[str], unknown: set[str], rows: int) -> str:
    """Why a condition holds or fails for no row."""
    names = sorted(used & unknown)
    if names:
        return f"{view} has no {' or '.join(names)} in its {count_in_words(rows, 'row')}"
    names = sorted(used)
    return f"{view} has {' and '.join(names)} in none of its {count_in_words(rows, 'row')} together"


def _judged(
    rule: Rule,
    rows: pl.DataFrame,
    total: int,
    thresholds: dict[str, float],
    settings: dict[str, Any],
) -> list[Found]:
    if rows.is_empty():
        return []
    found = []
    for finding in resolve(rule.judge)(rows, total, **thresholds):
        narrowed = _narrowing(finding.where)
        own = rows.filter(condition(narrowed, rows)) if narrowed else rows
        if own.is_empty():
            raise PluginError(
                f"rule {rule.name!r} found what no row of {rule.view} shows: {finding.text}",
                remedy="ask the author of the rule to correct it",
            )
        where = " and ".join(filter(None, [f"({rule.condition(thresholds)})", narrowed]))
        evidence = Evidence(rule.view, where, settings, own.height, own.head(EVIDENCE_ROWS))
        found.append(Found(rule, finding, evidence))
    return found


def _narrowing(values: Mapping[str, str | int | bool | None]) -> str:
    """An SQL condition for columns that hold these values."""
    return " and ".join(f"{_name(name)} {_is(value)}" for name, value in values.items())


def _name(column: str) -> str:
    """A column in SQL, quoted where its plain name would mean something else."""
    try:
        plain = pl.sql_expr(f"{column} = 0").meta.root_names() == [column]
    except pl.exceptions.PolarsError:
        plain = False
    return column if plain else '"' + column.replace('"', '""') + '"'


def _is(value: str | int | bool | None) -> str:
    if value is None:
        return "is null"
    if isinstance(value, bool):
        return "is true" if value else "is false"
    if isinstance(value, int):
        return f"= {value}"
    return "= '" + value.replace("'", "''") + "'"

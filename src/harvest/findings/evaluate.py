"""Asking rules about a dataset.

The rules that look at one view share one pass over it: the view is built once, and their
conditions choose their rows in one query, so that memory holds the chosen rows alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from harvest.api.rule import SEVERITIES, Rule
from harvest.api.view import DatasetReader
from harvest.errors import PluginError, UsageError, suggestion
from harvest.plugins.registry import PluginManager, resolve
from harvest.toolkit.frames import condition

from .model import Evidence, Found, Verdict

if TYPE_CHECKING:
    from typing import TypeAlias

    _Looked: TypeAlias = "tuple[Rule, dict[str, float], dict[str, Any]]"

__all__ = ["evaluate", "judge", "thresholds_of"]

EVIDENCE_ROWS = 10
"""Rows of evidence that are kept with a finding."""


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

    A rule whose view does not take the settings, or wants one to choose by, is left unjudged.
    Raises UsageError for a threshold of no rule, or one that is not a number.
    """
    given = thresholds or {}
    for name in given:
        plugins.rule(name)
    unjudged: list[tuple[str, str]] = []
    elsewhere: list[str] = []
    looked: dict[tuple[str, tuple[tuple[str, Any], ...]], list[_Looked]] = {}
    for rule in plugins.rules.values() if rules is None else rules:
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
            looked.setdefault(key, []).append((rule, numbers, own))
    found: list[Found] = []
    passed: list[str] = []
    for (name, _), group in looked.items():
        try:
            answers = _ask(dataset, name, group)
        except UsageError as error:
            unjudged += [(rule.name, str(error)) for rule, _, _ in group]
            continue
        found += [each for some in answers for each in some]
        passed += [rule.name for (rule, _, _), some in zip(group, answers, strict=True) if not some]
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


def _ask(dataset: DatasetReader, view: str, group: list[_Looked]) -> list[list[Found]]:
    """The findings of rules that look at one view with the same settings, rule by rule."""
    frame = dataset.view(view, **group[0][2])
    queries = [frame.select(pl.len())]
    for rule, numbers, _ in group:
        chosen = frame.filter(condition(rule.condition(numbers), frame))
        queries.append(chosen.select(rule.columns))
    total, *chosen_rows = pl.collect_all(queries)
    return [
        _judged(rule, rows, int(total.item()), numbers, own)
        for (rule, numbers, own), rows in zip(group, chosen_rows, strict=True)
    ]


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

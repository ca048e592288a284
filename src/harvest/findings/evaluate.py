"""Check rules on a dataset.

Rules on the same view share one pass over it. The view is built once, and one query selects the
rows for all conditions, so that only selected rows are in memory.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import polars as pl

from harvest.api.rule import SEVERITIES, Finding, Rule
from harvest.api.view import DatasetReader
from harvest.errors import PluginError, UsageError, suggestion
from harvest.plugins.registered import resolve
from harvest.plugins.registry import PluginManager
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.frames import condition, in_sql
from harvest.toolkit.steps import step

from .model import Evidence, Found, Verdict

EVIDENCE_ROWS = 10
"""Maximum number of evidence rows that are kept with a finding."""


@attrs.frozen
class _Question:
    rule: Rule
    thresholds: dict[str, float]
    settings: dict[str, Any]

    def population(self, frame: pl.LazyFrame) -> pl.Expr:
        """Return the condition for rows the rule is about; rows with unknown values count."""
        return condition(self.rule.population(self.thresholds), frame).fill_null(True)

    def condition(self, frame: pl.LazyFrame) -> pl.Expr:
        """Return the condition for selected rows; null for rows that cannot be checked."""
        return condition(self.rule.condition(self.thresholds), frame)


def evaluate(
    dataset: DatasetReader,
    plugins: PluginManager,
    *,
    rules: Iterable[Rule] | None = None,
    thresholds: Mapping[str, Mapping[str, Any]] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Verdict:
    """Check rules on a dataset and return the findings.

    rules: the rules to check; by default all that plugins declare.
    thresholds: by rule and name, instead of the declared ones; numbers, or text with a number.
    settings: settings of views, as ``run``; each is passed to the views that have it.

    A rule is ``unjudged`` if its view does not accept the settings, requires a setting, or has no
    values for the rule's condition. A rule is ``elsewhere`` if its view has none of the rows that
    it is about.
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
    found: list[Found] = []
    passed: list[str] = []
    partly: list[tuple[str, str]] = []
    for group in groups.values():
        try:
            first = group[0]
            answers = _answers(dataset.view(first.rule.view, **first.settings), group)
        except UsageError as error:
            unjudged += [(question.rule.name, str(error)) for question in group]
            continue
        for question, answer in zip(group, answers, strict=True):
            rule = question.rule
            if rule.among and not answer.about:
                elsewhere.append(rule.name)
            elif answer.about and not answer.judged:
                unjudged.append((rule.name, answer.gap))
            else:
                some = _judged(question, answer)
                found += some
                passed += [] if some else [rule.name]
                if not some and answer.gap:
                    partly.append((rule.name, answer.gap))
    found.sort(key=lambda f: (SEVERITIES.index(f.finding.severity), f.rule.name))
    return Verdict(
        *(tuple(found), tuple(sorted(passed)), tuple(sorted(unjudged))),
        *(tuple(sorted(elsewhere)), tuple(sorted(partly))),
    )


def thresholds_of(rule: Rule, given: Mapping[str, Any]) -> dict[str, float]:
    """Return the thresholds of a rule, some of them replaced; raise UsageError for invalid ones."""
    numbers = {name: threshold.value for name, threshold in rule.thresholds.items()}
    for name, value in given.items():
        if name not in numbers:
            remedy = suggestion(name, numbers) if numbers else "it has none"
            raise UsageError(f"rule {rule.name!r} has no threshold {name!r}", remedy=remedy)
        try:
            numbers[name] = float(value)
        except (TypeError, ValueError):
            raise UsageError(
                f"{rule.name}.{name}: {value!r} is not a number", remedy=rule.thresholds[name].doc
            ) from None
    return numbers


def judge(rule: Rule, rows: pl.DataFrame, **thresholds: float) -> list[Found]:
    """Check a rule on the rows of its view, given as a frame; return its findings.

    thresholds: by name, instead of the declared ones.
    """
    question = _Question(rule, thresholds_of(rule, thresholds), dict(rule.settings))
    (answer,) = _answers(rows.lazy(), [question])
    return _judged(question, answer) if answer.judged else []


@attrs.frozen(eq=False)
class _Answer:
    """The rows of a view that a rule selects.

    about: number of rows that the rule is about; ``judged``: number of these that it checked.
    gap: why it did not check all of them; empty if it did.
    """

    chosen: pl.DataFrame
    about: int
    judged: int
    gap: str


def _answers(frame: pl.LazyFrame, group: list[_Question]) -> list[_Answer]:
    """Evaluate all conditions on a frame, in one query each for counts and for selected rows."""
    conditions = [question.condition(frame) for question in group]
    used = [sorted(set(chosen.meta.root_names())) for chosen in conditions]
    numbers, marks = [], []
    known = frame.collect_schema()
    for n, (question, chosen, names) in enumerate(zip(group, conditions, used, strict=True)):
        if lacking := [name for name in question.rule.columns if name not in known]:
            raise PluginError(
                f"rule {question.rule.name!r} reads {lacking[0]!r}, which its view lacks",
                remedy="ask the author of the rule to correct it",
            )
        marks += [question.population(frame).alias(f"about {n}"), chosen.alias(f"chosen {n}")]
        about, judged = pl.col(f"about {n}"), pl.col(f"chosen {n}").is_not_null()
        numbers += [
            about.sum(),
            (about & judged).sum().alias(f"checked {n}"),
            *((about & pl.col(name).is_not_null()).any().alias(f"{name} {n}") for name in names),
        ]
    marked = frame.with_columns(marks)
    flags = [f"chosen {n}" for n in range(len(group))]
    columns = sorted({name for question in group for name in question.rule.columns})
    counted, kept = pl.collect_all(
        [marked.select(numbers), marked.filter(pl.any_horizontal(flags)).select(*columns, *flags)]
    )
    counts = counted.row(0, named=True)
    answers = []
    for n, (question, names) in enumerate(zip(group, used, strict=True)):
        about_n, judged_n = int(counts[f"about {n}"]), int(counts[f"checked {n}"])
        missing = [name for name in names if not counts[f"{name} {n}"]]
        gap = "" if judged_n == about_n else _gap(question.rule, about_n, judged_n, missing, names)
        rows = kept.filter(pl.col(f"chosen {n}")).select(question.rule.columns)
        answers.append(_Answer(rows, about_n, judged_n, gap))
    return answers


def _gap(rule: Rule, about: int, judged: int, missing: list[str], used: list[str]) -> str:
    """Say why a condition is true or false for only some rows, or for none."""
    rows = f"{count_in_words(about, 'row')}"
    if judged:
        text = f"{judged:,} of {rows} of {rule.view} checked"
    elif missing:
        text = f"{rule.view} has no {' or '.join(missing)} in {rows}"
    else:
        text = f"{rule.view} has too few values of {', '.join(used)} in {rows}"
    return f"{text}; {rule.unable}" if rule.unable else text


def _judged(question: _Question, answer: _Answer) -> list[Found]:
    rule, rows = question.rule, answer.chosen
    if rows.is_empty():
        return []
    found = []
    given = resolve(rule.judge)(rows, answer.judged, **question.thresholds)
    for finding in given if isinstance(given, Iterable) else [given]:
        if not isinstance(finding, Finding):
            raise PluginError(
                f"rule {rule.name!r} gave {finding!r} instead of a Finding",
                remedy="ask the author of the rule to correct it",
            )
        held = finding.where.items()
        narrowed = " and ".join(f"{in_sql(name)} {_is(value)}" for name, value in held)
        own = rows.filter(condition(narrowed, rows)) if narrowed else rows
        if own.is_empty():
            raise PluginError(
                f"rule {rule.name!r} found what no row of {rule.view} shows: {finding.headline}",
                remedy="ask the author of the rule to correct it",
            )
        where = " and ".join(filter(None, [f"({rule.condition(question.thresholds)})", narrowed]))
        evidence = Evidence(
            rule.view, where, question.settings, own.height, own.head(EVIDENCE_ROWS)
        )
        found.append(Found(rule, finding, evidence, answer.judged, answer.about - answer.judged))
    return found


def _is(value: str | int | bool | None) -> str:
    if value is None:
        return "is null"
    if isinstance(value, bool):
        return "is true" if value else "is false"
    if isinstance(value, int):
        return f"= {value}"
    return "= '" + value.replace("'", "''") + "'"

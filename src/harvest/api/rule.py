"""Rules: what a plugin concludes from its views, each with the evidence for it.

A rule looks at one view.  Its condition chooses rows of that view.  Its judgement turns the chosen
rows into findings: a headline with the one number that matters, and details.  The evidence of a
finding is therefore always a view and a condition that gives those rows again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

import attrs

Severity: TypeAlias = Literal["high", "medium", "low"]

SEVERITIES: Final[tuple[Severity, ...]] = ("high", "medium", "low")
"""The worst first."""

CERTAINTIES: Final[Mapping[str, str]] = {
    "lower_bound": "lower bound: the record is incomplete, real numbers may be higher",
    "impossible_value": "impossible value: a recorded number cannot be true and was left out",
    "too_large": "too large: a sum does not fit into 64 bits and is not shown",
    "coarse_clock": "coarse clock: some times are whole seconds, their shares may be off",
    "one_process": "one process: processes cannot be compared",
    "part": "partial data: only rows with the needed values were checked",
}
"""What makes a finding less than certain: a short name, and its meaning."""


@attrs.frozen
class Threshold:
    """A number that a rule decides by, and that a user may set.

    value: the default.
    doc: its meaning, with the unit.
    """

    value: float
    doc: str


# written out, since a type checker cannot see through `converter=tuple`
def _words(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(given)


@attrs.frozen
class Finding:
    """One conclusion of a rule.

    severity: ``high`` for what costs much or puts results in doubt, ``medium`` for what is worth
        a change, ``low`` for what is good to know.
    headline: the subject and the one number that matters, in at most 80 characters and without
        a full stop (``Partition black: jobs wait 4.4 h to run 26 s``).
    detail: one or two sentences with the other numbers.
    where: values by column that choose this finding's rows among those of its rule; none where
        all of them are its evidence.
    certainty: what makes it less than certain, out of ``CERTAINTIES``; ``part`` is added to it
        where some rows lack data.
    advice: what to try, where the rule's advice does not fit this case.
    """

    severity: Severity = attrs.field(validator=attrs.validators.in_(SEVERITIES))
    headline: str = attrs.field(validator=attrs.validators.min_len(1))
    detail: str = ""
    where: Mapping[str, str | int | bool | None] = attrs.field(factory=dict)
    certainty: tuple[str, ...] = attrs.field(
        default=(),
        converter=_words,
        validator=attrs.validators.deep_iterable(attrs.validators.in_(CERTAINTIES)),
    )
    advice: str = ""

    @property
    def text(self) -> str:
        """Headline and detail as sentences."""
        return f"{self.headline}. {self.detail}".rstrip()


@attrs.frozen(kw_only=True)
class Rule:
    """Declares a rule.

    name: ``family.rule`` (``io.small_requests``).
    doc: what it looks for and why that matters, in one or two sentences.
    view: the view that it looks at; with ``settings``, where that view takes some.
    among: an SQL condition over the view's columns: the rows that the rule is about, all unless
        given (``processes > 1``).
    where: an SQL condition that chooses rows among these.  Write a threshold in braces:
        ``requests >= {requests} and small > {share} * requests``.  A row for which it is neither
        true nor false, since a column has no value, cannot be checked.
    columns: of the view: what ``judge`` reads and the evidence shows, the most important first.
    judge: callable, or ``module:function`` imported on first use.  It takes a polars frame of the
        chosen rows with these columns (at least one row), the number of rows that were
        checked, and the thresholds by name, and gives findings.
    advice: what to try.
    reference: the source of the rule and its thresholds: a document, a paper, another tool.
    numerator: what its verdict compares, with its unit.
    denominator: what it is compared with; none where that is a threshold alone.
    judged: what the rule checks, and what it leaves out.
    unable: what makes it unable to judge, and which field or option of the recorder brings it.
    thresholds: by name.
    requires: record types without which it cannot judge, beyond what the view needs.
    reports: names of the reports that begin with its findings.
    """

    name: str
    doc: str
    view: str
    where: str
    columns: tuple[str, ...]
    judge: Callable[..., Iterable[Finding]] | str
    advice: str
    reference: str
    among: str = ""
    numerator: str = ""
    denominator: str = ""
    judged: str = ""
    unable: str = ""
    thresholds: Mapping[str, Threshold] = attrs.field(factory=dict)
    settings: Mapping[str, Any] = attrs.field(factory=dict)
    requires: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()

    def population(self, thresholds: Mapping[str, float]) -> str:
        """Its condition for whom it is about, with these numbers for its thresholds."""
        return _with_numbers(self.among or "true", thresholds)

    def condition(self, thresholds: Mapping[str, float]) -> str:
        """Its condition for what it chooses, among whom it is about."""
        where = _with_numbers(self.where, thresholds)
        return f"({self.population(thresholds)}) and ({where})" if self.among else where


def _with_numbers(condition: str, thresholds: Mapping[str, float]) -> str:
    return condition.format(**{name: _number(value) for name, value in thresholds.items()})


def _number(value: float) -> str:
    """A number in SQL with all its digits, whole ones without a point.

    Without an exponent, which polars below 2 does not read.
    """
    if abs(value) < 2**53 and float(value).is_integer():
        return str(int(value))
    digits = format(Decimal(repr(float(value))), "f")
    return digits if "." in digits else f"{digits}.0"

"""Rules: conclusions of a plugin from its views, each with evidence.

A rule reads one view. Its condition selects rows of that view. Its judgement turns the selected
rows into findings: a headline with the one number that matters, and details. The evidence of a
finding is therefore a view and a condition that selects these rows again.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

import attrs

from harvest.errors import PluginError

Severity: TypeAlias = Literal["high", "medium", "low"]

SEVERITIES: Final[tuple[Severity, ...]] = ("high", "medium", "low")
"""In descending order of severity."""

CERTAINTIES: Final[Mapping[str, str]] = {
    "lower_bound": "lower bound: the record is incomplete, real numbers may be higher",
    "impossible_value": "impossible value: a recorded number cannot be true and was left out",
    "too_large": "too large: a sum does not fit into 64 bits and is not shown",
    "coarse_clock": "coarse clock: some times are whole seconds, their shares may be off",
    "one_process": "one process: processes cannot be compared",
    "part": "partial data: only rows with the needed values were checked",
}
"""Reasons that make a finding less certain: short name -> meaning."""


@attrs.frozen
class Threshold:
    """A number in a rule's condition that a user may change.

    value: the default.
    doc: its meaning, with the unit.
    """

    value: float
    doc: str


@attrs.frozen
class Finding:
    """One conclusion of a rule.

    severity: ``high`` for large costs or doubtful results, ``medium`` for what is worth a change,
        ``low`` for what is good to know.
    headline: the subject and the one number that matters, in at most 80 characters and without a
        full stop (``Partition black: jobs wait 4.4 h to run 26 s``).
    detail: one or two sentences with the other numbers.
    where: values by column that select this finding's rows among those of its rule; empty if all of
        them are its evidence.
    certainty: reasons that make it less certain, from ``CERTAINTIES``; ``part`` is added if some
        rows lack data.
    advice: what to try, if the rule's advice does not fit this case.
    """

    severity: Severity = attrs.field(validator=attrs.validators.in_(SEVERITIES))
    headline: str = attrs.field(validator=attrs.validators.min_len(1))
    detail: str = ""
    where: Mapping[str, str | int | bool | None] = attrs.field(factory=dict)
    certainty: tuple[str, ...] = attrs.field(
        default=(),
        converter=tuple[str, ...],
        validator=attrs.validators.deep_iterable(attrs.validators.in_(CERTAINTIES)),
    )
    advice: str = ""

    @property
    def text(self) -> str:
        """Headline and detail as sentences."""
        return f"{self.headline}. {self.detail}".rstrip()


@attrs.frozen(kw_only=True)
class Rule:
    """Declaration of a rule.

    name: ``family.rule`` (``io.small_requests``).
    doc: what it looks for and why that matters, in one or two sentences.
    view: the view that it reads.
    among: an SQL condition over the view's columns that selects the rows the rule is about; by
        default all (``processes > 1``).
    where: an SQL condition that selects rows among these. Write a threshold in braces: ``requests
        >= {requests} and small > {share} * requests``. A row cannot be checked if the condition is
        neither true nor false because a value is missing.
    columns: columns of the view that ``judge`` reads and the evidence shows, most important first.
    judge: callable, or ``module:function`` imported on first use. It takes a polars frame of the
        selected rows (at least one) with these columns, the number of checked rows, and the
        thresholds by name. It returns findings.
    advice: what to try.
    reference: the source of the rule and its thresholds: a document, a paper, another tool.
    numerator: the quantity that the rule compares, with its unit.
    denominator: the quantity it is compared with; empty if that is only a threshold.
    judged: what the rule checks, and what it leaves out.
    unable: why it may lack data, and which field or option of the recorder adds the data.
    thresholds: by name.
    settings: settings of the view, by name.
    requires: record types without which it cannot check, beyond those that the view needs.
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
        """Return the SQL condition for the rows it is about, with thresholds filled in."""
        return _with_numbers(self.among or "true", thresholds)

    def condition(self, thresholds: Mapping[str, float]) -> str:
        """Return the SQL condition for the rows it selects, with thresholds filled in."""
        where = _with_numbers(self.where, thresholds)
        return f"({self.population(thresholds)}) and ({where})" if self.among else where


def _with_numbers(condition: str, thresholds: Mapping[str, float]) -> str:
    numbers = {name: _number(value) for name, value in thresholds.items()}
    try:
        return condition.format_map(numbers)
    except (LookupError, ValueError) as error:
        raise PluginError(
            f"the condition {condition!r} cannot be filled in: {error}",
            remedy="ask the author of the rule to declare its thresholds",
        ) from None


def _number(value: float) -> str:
    """Format a number for SQL with all its digits; whole numbers without a point.

    Uses no exponent, which polars before version 2 cannot parse.
    """
    if abs(value) < 2**53 and float(value).is_integer():
        return str(int(value))
    digits = format(Decimal(repr(float(value))), "f")
    return digits if "." in digits else f"{digits}.0"

"""Conclusions with their evidence, and the verdict that they make together."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from harvest.api.rule import CERTAINTIES, SEVERITIES, Finding, Rule
from harvest.toolkit import html
from harvest.toolkit.amounts import count_in_words

if TYPE_CHECKING:
    import polars as pl


@attrs.frozen(eq=False)
class Evidence:
    """The rows of a view that a finding rests on.

    where: the SQL condition that chooses them; settings: of the view.
    rows: how many there are; first: some of them, with the rule's columns.
    """

    view: str
    where: str
    settings: Mapping[str, Any]
    rows: int
    first: pl.DataFrame

    def command(self, dataset: str) -> str:
        """The command that shows the rows of a dataset, in the columns that the rule names."""
        settings = [f"--set={key}={value}" for key, value in self.settings.items()]
        columns = f"--columns={','.join(self.first.columns)}"
        words = ["harvest", "view", self.view, dataset, *settings, columns]
        # in double quotes where these change nothing in it
        safe = not set(self.where) & set('"$`\\!')
        where = f'"{self.where}"' if safe else shlex.quote(self.where)
        return f"{shlex.join(words)} --where {where}"

    def call(self) -> str:
        """The rows in Python, of a dataset of this name."""
        words = [repr(self.view), *(f"{key}={value!r}" for key, value in self.settings.items())]
        return f"dataset.view({', '.join(words)}).filter(pl.sql_expr({self.where!r}))"


@attrs.frozen(eq=False)
class Found:
    """A finding of a rule, with its evidence.

    judged: how many rows of the view the rule could judge; unknown: how many it could not, among
        those that it is about.
    """

    rule: Rule
    finding: Finding
    evidence: Evidence
    judged: int
    unknown: int

    @property
    def certainty(self) -> tuple[str, ...]:
        """How sure it is: ``complete``, or all that makes it less than certain."""
        given = self.finding.certainty
        part = ("part",) if self.unknown and "part" not in given else ()
        return (*given, *part) or ("complete",)

    def certainty_in_words(self) -> str:
        """How sure it is: ``judged 46 of 61 rows; coarse clock: ...``."""
        judged = f"judged all {self.judged:,} rows" if self.judged > 1 else "judged the one row"
        if self.unknown:
            judged = f"judged {self.judged:,} of {self.judged + self.unknown:,} rows"
        first = "complete: " if self.certainty == ("complete",) else ""
        reasons = [CERTAINTIES[word] for word in self.certainty if word in CERTAINTIES]
        return "; ".join([f"{first}{judged} of {self.evidence.view}", *reasons])

    def to_dict(self) -> dict[str, Any]:
        """As plain values, without the rows themselves."""
        return {
            "rule": self.rule.name,
            "severity": self.finding.severity,
            "text": self.finding.text,
            "certainty": list(self.certainty),
            "judged": self.judged,
            "unknown": self.unknown,
            "advice": self.rule.advice,
            "view": self.evidence.view,
            "settings": {key: str(value) for key, value in self.evidence.settings.items()},
            "where": self.evidence.where,
            "rows": self.evidence.rows,
            "reference": self.rule.reference,
        }


@attrs.frozen(eq=False, repr=False)
class Verdict:
    """What a set of rules concluded.

    found: the worst first.
    passed: names of rules that looked and found nothing.
    unjudged: names of rules that lack a part of what they need, each with the reason.
    elsewhere: names of rules on what the dataset does not hold at all.
    partly: names of rules that found nothing and could judge a part only, each with which.
    """

    found: tuple[Found, ...] = ()
    passed: tuple[str, ...] = ()
    unjudged: tuple[tuple[str, str], ...] = ()
    elsewhere: tuple[str, ...] = ()
    partly: tuple[tuple[str, str], ...] = ()

    def summary(self) -> str:
        """One sentence: ``3 findings: 1 high, 2 medium; 12 rules found nothing.``"""
        severities = [found.finding.severity for found in self.found]
        counts = [f"{severities.count(s)} {s}" for s in SEVERITIES if s in severities]
        said = "No finding"
        if counts:
            said = f"{count_in_words(len(severities), 'finding')}: {', '.join(counts)}"
        if self.passed:
            said += f"; {count_in_words(len(self.passed), 'rule')} found nothing"
        if self.partly:
            said += f", {len(self.partly)} of which judged a part only"
        if self.unjudged:
            said += f"; {count_in_words(len(self.unjudged), 'rule')} could not judge"
        if self.elsewhere:
            rules = count_in_words(len(self.elsewhere), "rule")
            be = "is" if len(self.elsewhere) == 1 else "are"
            said += f"; {rules} {be} about what the dataset does not hold"
        judged = self.found or self.passed or self.unjudged or self.elsewhere
        return f"{said}." if judged else "No rule is installed."

    def __repr__(self) -> str:
        return f"<Verdict: {self.summary()}>"

    def _repr_html_(self) -> str:
        pieces = [html.paragraph(self.summary(), strong=True)]
        for found in self.found:
            evidence, first = found.evidence, found.evidence.first
            shown = f"{count_in_words(evidence.rows, 'row')} of {evidence.call()}"
            if first.height < evidence.rows:
                shown += f", the first {first.height}"
            pieces += [
                html.paragraph(f"{found.finding.severity.upper()}: {found.finding.text}"),
                html.details(
                    "How sure it is, what to try, and the evidence",
                    html.paragraph(f"How sure: {found.certainty_in_words()}.")
                    + html.paragraph(found.rule.advice)
                    + html.paragraph(f"{shown}:")
                    + html.table(
                        first.columns,
                        first.rows(),
                        right=[c for c, kind in first.schema.items() if kind.is_numeric()],
                    )
                    + html.paragraph(f"Rule {found.rule.name}: {found.rule.reference}"),
                ),
            ]
        return html.joined(*pieces, html.bullets(self.gaps()))

    def gaps(self) -> list[str]:
        """Why rules could not judge, or a part only; each reason once, with the rules."""
        sentences = []
        for said, gaps in (
            ("Could not judge", self.unjudged),
            ("Found nothing in a part", self.partly),
        ):
            by_reason: dict[str, list[str]] = {}
            for name, reason in gaps:
                by_reason.setdefault(reason, []).append(name)
            sentences += [f"{said} {', '.join(n)}: {reason}." for reason, n in by_reason.items()]
        return sentences

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "findings": [found.to_dict() for found in self.found],
            "passed": list(self.passed),
            "unjudged": [{"rule": name, "reason": reason} for name, reason in self.unjudged],
            "elsewhere": list(self.elsewhere),
            "partly": [{"rule": name, "reason": reason} for name, reason in self.partly],
        }

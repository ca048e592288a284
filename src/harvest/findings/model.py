"""Findings with their evidence, and the verdict of a set of rules."""

import shlex
from collections.abc import Mapping
from typing import Any

import attrs
import polars as pl

from harvest.api.rule import CERTAINTIES, SEVERITIES, Finding, Rule
from harvest.toolkit import html
from harvest.toolkit.amounts import count_in_words


@attrs.frozen(eq=False)
class Evidence:
    """The rows of a view that are the evidence of a finding.

    where: the SQL condition that selects them; settings: settings of the view.
    rows: number of rows; first: some of them, with the rule's columns.
    """

    view: str
    where: str
    settings: Mapping[str, Any]
    rows: int
    first: pl.DataFrame

    def command(self, dataset: str) -> str:
        """Return the shell command that shows the rows, with the columns that the rule names."""
        settings = [f"--set={key}={value}" for key, value in self.settings.items()]
        columns = f"--columns={','.join(self.first.columns)}"
        words = ["harvest", "view", self.view, dataset, *settings, columns]
        # double quotes are enough if the text has no characters special in them
        safe = not set(self.where) & set('"$`\\!')
        where = f'"{self.where}"' if safe else shlex.quote(self.where)
        return f"{shlex.join(words)} --where {where}"

    def call(self) -> str:
        """Return the Python expression for the rows, with a variable ``dataset``."""
        words = [repr(self.view), *(f"{key}={value!r}" for key, value in self.settings.items())]
        return f"dataset.view({', '.join(words)}).filter(pl.sql_expr({self.where!r}))"


@attrs.frozen(eq=False)
class Found:
    """A finding of a rule, with its evidence.

    ``judged``: number of rows of the view that the rule checked; unknown: number of rows that the
    rule is about but that lack data.
    """

    rule: Rule
    finding: Finding
    evidence: Evidence
    judged: int
    unknown: int

    @property
    def certainty(self) -> tuple[str, ...]:
        """``complete``, or all reasons that make the finding less certain."""
        given = self.finding.certainty
        part = ("part",) if self.unknown and "part" not in given else ()
        return (*given, *part) or ("complete",)

    @property
    def advice(self) -> str:
        """What to try: the finding's own advice, or its rule's."""
        return self.finding.advice or self.rule.advice

    def caveats(self) -> str:
        """Return the reasons for uncertainty in short: ``46 of 61 rows checked, coarse clock``."""
        names = [
            CERTAINTIES[word].partition(":")[0]
            for word in self.finding.certainty
            if word != "part" or not self.unknown
        ]
        checked = f"{self.judged:,} of {self.judged + self.unknown:,} rows checked"
        return ", ".join([checked, *names] if self.unknown else names)

    def certainty_in_words(self) -> str:
        """Describe the certainty: ``checked 46 of 61 rows of io.jobs; coarse clock: ...``."""
        checked = f"checked all {self.judged:,} rows" if self.judged > 1 else "checked the one row"
        if self.unknown:
            checked = f"checked {self.judged:,} of {self.judged + self.unknown:,} rows"
        reasons = [CERTAINTIES[word] for word in self.certainty if word in CERTAINTIES]
        return "; ".join([f"{checked} of {self.evidence.view}", *reasons])

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, without the rows of evidence."""
        return {
            "rule": self.rule.name,
            "severity": self.finding.severity,
            "headline": self.finding.headline,
            "detail": self.finding.detail,
            "text": self.finding.text,
            "certainty": list(self.certainty),
            "judged": self.judged,
            "unknown": self.unknown,
            "advice": self.advice,
            "view": self.evidence.view,
            "settings": {key: str(value) for key, value in self.evidence.settings.items()},
            "where": self.evidence.where,
            "rows": self.evidence.rows,
            "reference": self.rule.reference,
        }


@attrs.frozen(eq=False, repr=False)
class Verdict:
    """The result of checking a set of rules.

    found: findings, the most severe first.
    passed: names of rules that were checked without findings.
    unjudged: names of rules that lack some of the data they need, each with the reason.
    elsewhere: names of rules about data that the dataset does not hold at all.
    partly: names of rules without findings that could check only some rows, each with the reason.
    """

    found: tuple[Found, ...] = ()
    passed: tuple[str, ...] = ()
    unjudged: tuple[tuple[str, str], ...] = ()
    elsewhere: tuple[str, ...] = ()
    partly: tuple[tuple[str, str], ...] = ()

    def summary(self) -> str:
        """Return one line: ``3 findings: 1 high, 2 medium. 12 checks passed, 8 lack data.``"""
        severities = [found.finding.severity for found in self.found]
        counts = [f"{severities.count(s)} {s}" for s in SEVERITIES if s in severities]
        found = f"{count_in_words(len(severities), 'finding')}: {', '.join(counts)}"
        partial = f" ({len(self.partly):,} on partial data)" if self.partly else ""
        lack = "lacks" if len(self.unjudged) == 1 else "lack"
        apply = "does" if len(self.elsewhere) == 1 else "do"
        checks = [
            (len(self.passed), f"passed{partial}"),
            (len(self.unjudged), f"{lack} data"),
            (len(self.elsewhere), f"{apply} not apply"),
        ]
        named = [(number, result) for number, result in checks if number]
        if not severities and not named:
            return "No rule is installed."
        said = [f"{number:,} {result}" for number, result in named]
        if named:  # the first number gets its unit
            number, result = named[0]
            said[0] = f"{count_in_words(number, 'check')} {result}"
        first = found if counts else "No findings"
        return f"{first}. {', '.join(said)}." if said else f"{first}."

    def command(self, dataset: str) -> str:
        """Return the shell command that shows these findings, and those of other rules."""
        given = {
            key: value
            for found in self.found
            for key, value in found.evidence.settings.items()
            if key not in found.rule.settings
        }
        options = [f"--set={key}={value}" for key, value in given.items()]
        return shlex.join(["harvest", "findings", dataset, *options])

    def __repr__(self) -> str:
        return f"<Verdict: {self.summary()}>"

    def _repr_html_(self) -> str:
        pieces = [html.paragraph(self.summary(), strong=True)]
        for found in self.found:
            evidence, first = found.evidence, found.evidence.first
            shown = f"{count_in_words(evidence.rows, 'row')} of {evidence.call()}"
            if first.height < evidence.rows:
                shown += f", the first {first.height}"
            right = [c for c, kind in first.schema.items() if kind.is_numeric()]
            content = (
                html.paragraph(found.finding.detail)
                + html.paragraph(f"Next: {found.advice}")
                + html.paragraph(f"Certainty: {found.certainty_in_words()}.")
                + html.paragraph(f"Evidence: {shown}:")
                + html.table(first.columns, first.rows(), right=right)
                + html.paragraph(f"Rule {found.rule.name}. Source: {found.rule.reference}")
            )
            headline = f"{found.finding.severity.upper()}: {found.finding.headline}"
            pieces.append(html.details(headline, content))
        gaps = self.gaps()
        if gaps:
            count = count_in_words(len(gaps), "reason")
            pieces.append(html.details(f"Checks without data: {count}", html.bullets(gaps)))
        return html.joined(*pieces)

    def gaps(self) -> list[str]:
        """Say why checks lack all or some data; each reason once, with its rules."""
        sentences = []
        for said, gaps in (("Not checked", self.unjudged), ("Passed in part", self.partly)):
            by_reason: dict[str, list[str]] = {}
            for name, reason in gaps:
                by_reason.setdefault(reason, []).append(name)
            sentences += [f"{said}: {', '.join(n)}. {reason}." for reason, n in by_reason.items()]
        return sentences

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values."""
        return {
            "findings": [found.to_dict() for found in self.found],
            "passed": list(self.passed),
            "unjudged": [{"rule": name, "reason": reason} for name, reason in self.unjudged],
            "elsewhere": list(self.elsewhere),
            "partly": [{"rule": name, "reason": reason} for name, reason in self.partly],
        }

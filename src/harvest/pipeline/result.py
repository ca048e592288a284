"""The result of a run, for programs and people, with an account of every input unit."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import attrs

from harvest.errors import ExitCode
from harvest.storage.manifest import Manifest
from harvest.storage.part import Part, part_key, plain
from harvest.toolkit import html
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import printable_line

from .deciding import Planned
from .plan import Plan


@attrs.define(kw_only=True)
class SourceAccount:
    """Counts of one source's units: ``read = written + filtered + folded + rejected``.

    partitions: read in this run; skipped: unchanged since an earlier run.
    """

    source: str
    partitions: int = 0
    skipped: int = 0
    read: int = 0
    written: int = 0
    filtered: int = 0
    folded: int = 0
    rejected: int = 0
    failed: int = 0
    reasons: dict[str, int] = attrs.field(factory=dict)

    @property
    def balanced(self) -> bool:
        """Whether every unit read is accounted for."""
        return self.read == self.written + self.filtered + self.folded + self.rejected


@attrs.define
class Account:
    """The accounts of all sources of a run."""

    sources: dict[str, SourceAccount]

    COLUMNS: ClassVar = (
        "source", "parts", "unchanged", "read", "written", "filtered", "merged", "rejected"
    )  # fmt: skip
    """Column titles of the table for people, which is shown with the reasons."""

    @property
    def rows(self) -> list[tuple[str | int, ...]]:
        return [
            (a.source, a.partitions, a.skipped, a.read, a.written, a.filtered, a.folded, a.rejected)
            for a in self.sources.values()
        ]

    @property
    def rejected(self) -> int:
        return sum(a.rejected for a in self.sources.values())

    @property
    def written(self) -> int:
        return sum(a.written for a in self.sources.values())


def account_of(read: Iterable[Part], skipped: Iterable[str]) -> Account:
    """Sum up the counts of parts that a run read, and count skipped parts by their source names."""
    sources: dict[str, SourceAccount] = {}
    for part in read:
        account = sources.setdefault(part.source, SourceAccount(source=part.source))
        account.partitions += 1
        account.read += part.read
        account.written += part.written
        account.filtered += sum(part.filtered.values())
        account.folded += sum(part.folded.values())
        account.rejected += part.rejected
        account.failed += part.failed
        for word, counts in (("filtered", part.filtered), ("merged", part.folded)):
            for reason, count in counts.items():
                key = f"{word}: {reason}"
                account.reasons[key] = account.reasons.get(key, 0) + count
    for source, count in Counter(skipped).items():
        account = sources.setdefault(source, SourceAccount(source=source))
        account.skipped += count
    return Account(dict(sorted(sources.items())))


_NOTES_SHOWN = 20


@attrs.frozen(kw_only=True, repr=False)
class RunResult:
    """The result of a run.

    run: its id, None if nothing was committed; plan: the plan of the run.
    parts: the partitions it read (or found staged).
    left: other planned partitions, which some dataset holds; manifests: of the datasets before.
    dropped: parts that left the dataset because their input is gone.
    scripts: in a dry run, the batch scripts that the engine would submit.
    choices: remarks about locations given without a source, and about inputs that were not read.
    no_files: pipes, sockets and devices in input directories, which are never opened: path -> kind.
    datasets: locations of the datasets to write; streamed: whether a sink streamed its rows.
    exports: each export with why it failed, or None; settings: of plugins, by name.
    """

    run: str | None
    plan: Plan
    parts: tuple[Part, ...]
    _left: Sequence[Planned] = ()
    _manifests: Sequence[Manifest] = ()
    dropped: tuple[Part, ...] = ()
    dry: bool = False
    scripts: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    no_files: Mapping[str, str] = attrs.field(factory=dict)
    datasets: tuple[str, ...] = ()
    streamed: bool = False
    exports: Mapping[str, str | None] = attrs.field(factory=dict)
    settings: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)

    @property
    def skipped(self) -> tuple[Part, ...]:
        """The partitions that the run left unchanged, in the dataset's order; built on access."""
        places = [(p.key, p.held_by[0]) for p in self._left]
        if not self.dry:
            places += [(part_key(use.source.name, p), 0) for use, p in self.plan.skipped()]
        found = (self._manifests[number].parts[key] for key, number in places)
        return tuple(sorted(found, key=lambda part: part.order))

    @property
    def account(self) -> Account:
        """Units read, written, filtered, merged and rejected, by source."""
        skipped = [planned.use.source.name for planned in self._left]
        if not self.dry:
            skipped += [use.source.name for use, _ in self.plan.skipped()]
        return account_of(self.parts, skipped)

    @property
    def rows(self) -> dict[str, int]:
        """Number of written rows of each record type."""
        rows: Counter[str] = Counter()
        for part in self.parts:
            rows.update(part.rows)
        return dict(sorted(rows.items()))

    @property
    def left_out(self) -> list[tuple[str, int]]:
        """Reasons why valid units became no rows, each with the number of units."""
        sources = self.account.sources.values()
        found = [reason for account in sources for reason in sorted(account.reasons.items())]
        passed = sorted(self.no_files.items())
        found += [(f"{kind}: {printable_line(path)}", 1) for path, kind in passed[:_NOTES_SHOWN]]
        more = len(passed) - _NOTES_SHOWN
        return found + ([("more pipes, sockets and devices", more)] if more > 0 else [])

    @property
    def notes(self) -> list[str]:
        """Notes of the sources, each with its input."""
        return [f"{part.origin}: {note}" for part in self.parts for note in part.notes]

    @property
    def first_notes(self) -> list[str]:
        """The first notes, for display, and the number of further ones."""
        more = len(self.notes) - _NOTES_SHOWN
        return self.notes[:_NOTES_SHOWN] + ([f"and {more} more"] if more > 0 else [])

    def inputs(
        self, *, changed: bool = False, failed: bool = False, planned: bool = False
    ) -> set[str]:
        """Return absolute paths of the run's inputs.

        changed, failed: of partitions that changed during reading, or that could not be read.
        planned: of all partitions of the run, including unchanged ones.
        """
        parts = [p for p in self.parts if (changed and p.changed) or (failed and p.failed)]
        keys = {part.key for part in parts}
        found = [p.partition for p in self.plan.partitions if planned or p.key in keys]
        if planned:
            found += [partition for _, partition in self.plan.skipped()]
        return {path for partition in found for path in partition.inputs}

    @property
    def exit_code(self) -> ExitCode:
        """Exit code: 0, 3 when the run committed rejects, or 5 when an export failed."""
        if any(self.exports.values()):
            return ExitCode.EXPORT
        return ExitCode.REJECTS if self.account.rejected else ExitCode.DONE

    def document(self) -> dict[str, Any]:
        """Return the account of the run as a document for JSON output."""
        return {
            "run": self.run,
            "exit_code": int(self.exit_code),
            "sources": plain(list(self.account.sources.values())),
            "dropped": len(self.dropped),
            "record_types": self.rows,
            "notes": self.notes,
            "no_files": dict(self.no_files),
            "choices": list(self.choices),
            "exports": dict(self.exports),
        }

    def __repr__(self) -> str:
        return f"<RunResult: {self._summary()}>"

    def _repr_html_(self) -> str:
        account = self.account
        rejected = account.rejected
        return html.joined(
            html.paragraph(self._summary(), strong=True),
            html.bullets(self.choices),
            html.table(account.COLUMNS, account.rows, right=account.COLUMNS[1:]),
            html.table(("record type", "rows"), self.rows.items(), right=("rows",)),
            html.table(("left out of the rows", "units"), self.left_out, right=("units",)),
            html.details(count_in_words(len(self.notes), "note"), html.bullets(self.first_notes)),
            html.paragraph(
                f"{count_in_words(rejected, 'input unit')} could not be read: dataset.rejects()"
            )
            if rejected
            else "",
        )

    def _summary(self) -> str:
        where = printable_line(", ".join(self.datasets)) or "the dataset"
        if self.dry:
            todo = len(self.plan.to_read)
            return f"{todo} of {self.plan.count} partitions would be read for {where}"
        if self.run is None:
            return f"nothing new for {where}"
        rejected = self.account.rejected
        said = f"{count_in_words(self.account.written, 'row')}"
        if rejected:
            said += f" and {count_in_words(rejected, 'reject')}"
        return f"{said} committed to {where} as run {self.run}"

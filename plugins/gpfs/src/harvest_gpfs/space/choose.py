"""Deletion candidates of a scan, selected by the settings of ``gpfs.candidates``, and owners.

An object is a candidate only if all of its paths match. If one of its hard links is excluded,
outside the directories, or not in the list, removing the others would free nothing.

Patterns mean the same as a regular expression and as LIKE of the policy language: ``*`` is any
text, ``?`` is one character, and no other character is special. A pattern that starts with a slash
matches whole paths. Other patterns match names anywhere in a path. A pattern that matches a
directory also matches everything below it.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import attrs
import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import fraction, known_sum, possible

from ..aggregation.files import COLUMNS
from ..aggregation.groupings import NUMBER, parse_age, parse_size, read_names, text_of
from ..aggregation.listing import IDENTITY, ONLY_PATH, Listing
from ..aggregation.on_polars import PolarsRows
from ..aggregation.scans import label_of
from ..views.common import INT, SUMS, TEXT, collected, declared_types, frame_of, listing, of_scan
from .plugin import CANDIDATE_OWNERS, CANDIDATES

_OBJECTS: Final = declared_types(CANDIDATES)
_OWNERS: Final = declared_types(CANDIDATE_OWNERS)
_PARTS: Final = ("", "linked_", "excluded_", "elsewhere_")


def candidates(dataset: DatasetReader, **settings: Any) -> pl.LazyFrame:
    """Build the view ``gpfs.candidates``."""
    return Choice.of(dataset, **settings).listed()


def candidate_owners(dataset: DatasetReader, **settings: Any) -> pl.LazyFrame:
    """Build the view ``gpfs.candidate_owners``."""
    return Choice.of(dataset, **settings).summed()


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Choice:
    """Settings that select candidates, and the scan.

    limit: the candidates' times are before this time; above: minimum size in bytes.
    uids: numbers of the selected owners.
    names: names of owners by number, from the passwd file.
    """

    found: Listing
    limit: datetime
    time: str
    above: int
    uids: tuple[int, ...]
    under: tuple[str, ...]
    only: tuple[str, ...]
    exclude: tuple[str, ...]
    kind: tuple[str, ...]
    pool: tuple[str, ...]
    names: dict[int, str]

    @classmethod
    def of(
        cls,
        dataset: DatasetReader,
        *,
        age: str,
        above: str,
        owner: Sequence[str],
        scan: str,
        now: str | None = None,
        passwd: Path | None = None,
        **rest: Any,
    ) -> Self:
        """Build from the settings of the view.

        Raises UsageError if the scan has no time, or a size or an age is invalid; ValueError for an
        owner that is neither a number nor in the passwd file, and for a pattern that matches every
        path.
        """
        found, names = listing(dataset, scan, now=now), read_names(passwd, "passwd")
        for patterns in (rest["only"], rest["exclude"]):
            fits(patterns)  # raises errors immediately, before rows are requested
        return cls(
            found=found,
            limit=found.now - timedelta(days=parse_age(age)),
            above=parse_size(above),
            uids=tuple(uid for text in owner for uid in _uids(text, names)),
            names=names,
            **rest,
        )

    def listed(self) -> pl.LazyFrame:
        return of_scan(self.found, _OBJECTS, lambda: self.objects, now=label_of(self.found.now))

    def summed(self) -> pl.LazyFrame:
        return of_scan(self.found, _OWNERS, self._owners, now=label_of(self.found.now))

    @property
    def times(self) -> tuple[str, ...]:
        """Columns of the times that must be before the limit."""
        both = ("access_time", "modify_time")
        return both if self.time == "both" else (f"{self.time}_time",)

    @cached_property
    def objects(self) -> pl.DataFrame:
        """The candidates, each listed once, at its first path."""
        table = self._whole.filter(~self._elsewhere()).drop("whole")
        return table.with_columns(user=text_of("uid", self.names)).sort(
            "size_bytes", "path", descending=[True, False], nulls_last=True
        )

    def _owners(self) -> pl.DataFrame:
        """Sum candidates by owner, and objects that are not candidates, by reason."""
        listed, held = self.objects, self._whole.filter(self._elsewhere())
        fits_all = self._object() & self._place()
        parts = [
            listed.group_by("uid").agg(
                *_sums(""),
                known_sum(possible("allocated_bytes")).alias("allocated_bytes"),
                pl.max_horizontal(pl.col("access_time", "modify_time").max()).alias("last_touched"),
            ),
            listed.filter(pl.col("paths") > 1).group_by("uid").agg(_sums("linked_")),
            held.group_by("uid").agg(_sums("elsewhere_")),
            self._summed(fits_all & self._excluded(), "excluded_"),
            self._summed((fits_all & ~self._excluded()).is_null(), "undecided_"),
            self._summed(pl.lit(value=True), "owner_"),
        ]
        table = parts[-1]
        for part in parts[:-1]:
            table = table.join(part, on="uid", how="left", nulls_equal=True)
        counts = [name for name in _OWNERS if name.endswith("inodes")]
        said = pl.any_horizontal(pl.col(name) > 0 for name in counts)
        table = table.with_columns(pl.col(name).fill_null(0) for name in counts).filter(said)
        # sums are 0 of no objects, or null if some objects are undecided
        sums = [(part, name) for part in _PARTS for name in SUMS[:2]] + [("", SUMS[2])]
        nothing = pl.when(pl.col("undecided_inodes") == 0).then(pl.lit(0, INT))
        table = table.with_columns(
            pl.when(pl.col(f"{part}inodes") > 0)
            .then(f"{part}{name}")
            .otherwise(nothing)
            .alias(f"{part}{name}")
            for part, name in sums
        ).with_columns(
            user=pl.coalesce(text_of("uid", self.names), pl.col("uid").cast(TEXT)),
            share=fraction("size_bytes", "owner_size_bytes"),
        )
        return table.sort("size_bytes", "uid", descending=[True, False], nulls_last=True)

    @cached_property
    def _whole(self) -> pl.DataFrame:
        """Objects with a matching path, each at its first path; ``whole``: all its paths match."""
        rows = frame_of(self.found).filter(self._object())
        passes = (self._place() & ~self._excluded()).alias("whole")
        wanted = [name for name in (*_OBJECTS, *IDENTITY) if name in COLUMNS]
        rows = rows.select(*dict.fromkeys(wanted), passes, ONLY_PATH)
        fit = collected(rows.filter("whole")).sort("path", "origin", "position")
        if self.found.several_lists:
            fit = fit.unique((*IDENTITY, "path"), keep="first", maintain_order=True)
        # for objects with several paths, the other paths are needed too
        identity = (*IDENTITY, "only_path")
        linked = fit.lazy().filter(pl.col("only_path").is_null()).select(identity).unique()
        others = collected(
            rows.filter(~pl.col("whole"))
            .join(linked, on=identity, how="semi", nulls_equal=True)
            .select(*identity, outside=pl.lit(value=True))
        ).unique()
        return (
            fit.with_columns(paths=pl.len().over(identity).cast(INT))
            .unique(identity, keep="first", maintain_order=True)
            .join(others, on=identity, how="left", nulls_equal=True)
            .with_columns(whole=pl.col("outside").is_null())
            .drop("outside", "only_path", "snapshot_id")
        )

    def _elsewhere(self) -> pl.Expr:
        """Test whether a path of an object does not match, or is not in the list."""
        return ~pl.col("whole") | (pl.col("nlink") > pl.col("paths")).fill_null(value=False)

    def _object(self) -> pl.Expr:
        """Test whether an object matches, apart from its paths; null if a value is unknown."""
        test = pl.col("kind").cast(TEXT).is_in([kind for kind in self.kind if kind != "unknown"])
        if "unknown" in self.kind:
            test |= pl.col("kind").is_null()
        for name in self.times:
            test &= pl.col(name) < self.limit
        if self.above:
            test &= pl.col("size_bytes") >= self.above
        for name, wanted in (("uid", self.uids), ("pool", self.pool)):
            if wanted:
                test &= pl.col(name).is_in(wanted)
        return test

    def _place(self) -> pl.Expr:
        test = inside(self.under) if self.under else pl.lit(value=True)
        return test & fits(self.only) if self.only else test

    def _excluded(self) -> pl.Expr:
        return fits(self.exclude) if self.exclude else pl.lit(value=False)

    def _summed(self, test: pl.Expr, prefix: str) -> pl.DataFrame:
        """Sum objects that pass a test by owner, hard links once, in bounded memory."""
        found = Listing(PolarsRows(frame_of(self.found).filter(test)), self.found.scan)
        table = found.aggregate(["uid"], SUMS, directories=False).drop("allocated_bytes")
        return table.rename({name: f"{prefix}{name}" for name in table.columns if name != "uid"})


def _sums(prefix: str) -> list[pl.Expr]:
    return [
        pl.len().cast(INT).alias(f"{prefix}inodes"),
        known_sum(possible("size_bytes")).alias(f"{prefix}size_bytes"),
    ]


def _uids(text: str, names: dict[int, str]) -> list[int]:
    found = [uid for uid, name in names.items() if name == text]
    found = found or ([int(text)] if NUMBER.fullmatch(text) else [])
    if not found:
        known = "the passwd file has none of this name" if names else "give passwd for names"
        raise ValueError(f"no owner {text!r}: {known}")
    return found


def fits(patterns: Sequence[str]) -> pl.Expr:
    """Test whether a pattern matches ``path``; raises ValueError for one that matches all paths."""
    every = "|".join(_regex(pattern) for pattern in map(_plain, patterns))
    return pl.col("path").str.contains(f"(?s)(?:{every})")


def inside(directories: Iterable[str]) -> pl.Expr:
    """Test whether ``path`` is one of the directories, or below one."""
    path = pl.col("path")
    plain = [directory.rstrip("/") for directory in directories]
    return pl.any_horizontal((path == d) | path.str.starts_with(f"{d}/") for d in plain)


def like(patterns: Iterable[str]) -> str:
    """Convert ``fits`` to an SQL expression of a policy rule."""
    plain = map(_plain, patterns)
    whole = [pattern if pattern.startswith("/") else f"*/{pattern}" for pattern in plain]
    # match the pattern itself, and everything below it
    return _any(_like(pattern, end, special=True) for pattern in whole for end in ("", "/%"))


def within(directories: Iterable[str]) -> str:
    """Convert ``inside`` to an SQL expression of a policy rule."""
    return _any(_like(d.rstrip("/") + "/", "%") for d in directories)


def literal(text: str) -> str:
    """Quote a text for the policy language, between apostrophes.

    The brackets are m4 quotes: m4 processes a rule file first and would replace its own words.
    """
    return "['" + text.replace("'", "''") + "']"


def _plain(pattern: str) -> str:
    plain = pattern.rstrip("/")
    if not plain.strip("*"):
        raise ValueError(f"the pattern {pattern!r} fits every path")
    return plain


def _regex(pattern: str) -> str:
    special = {"*": ".*", "?": "."}
    text = "".join(special.get(c) or pl.escape_regex(c) for c in pattern)
    return f"^{text}(?:/|$)" if pattern.startswith("/") else f"(?:^|/){text}(?:/|$)"


def _like(text: str, end: str, *, special: bool = False) -> str:
    """Build a LIKE test of a path.

    A character that m4 or the policy language would interpret becomes ``_`` (any character).
    """
    wild = {"*": "%", "?": "_"} if special else {}
    own = dict.fromkeys("[]'\n", "_")
    escaped = {c: f"!{c}" for c in "%_!"}
    escaped_text = "".join((wild | own | escaped).get(c, c) for c in text) + end
    how = " ESCAPE '!'" if any(c in text for c in escaped) else ""
    return f"PATH_NAME LIKE {literal(escaped_text)}{how}"


def _any(tests: Iterable[str]) -> str:
    return "(" + "\n    OR ".join(tests) + ")"

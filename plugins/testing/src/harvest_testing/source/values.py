"""Promises about values: what stands in the input comes as it stands there.

A value of the sample's rows that a file holds to the letter is written otherwise there: longer, in
other letters, as a number at a bound.  It then comes as it is written, or is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from harvest import SourceError
from harvest_testing.promise import does_not_apply, promise, require

from .kit import SourceKit, files_of
from .reading import Piece

TRIED = 4
"""Columns whose values are written otherwise, of each kind of value."""

TAILS = ("x" * 300, "e\u0301 \ufb01")
"""Ends of a text that is long, and that Unicode has other forms of."""

WHOLE = tuple(
    sign * (1 << bits) + more
    for bits in (31, 32, 53, 63, 64)
    for sign in (1, -1)
    for more in (0, 1)
)
"""Whole numbers around what types of numbers hold: of 32 and 64 bits, and of a float."""

FRACTIONS = (0.0, 0.1234567890123457, 16_777_217.25, -2.5, 2.5e-07, 1e22)

_WORD = re.compile(r"[A-Za-z][\w.:/ -]{0,60}[\w.:/-]")

Column: TypeAlias = tuple[str, str]


@attrs.frozen
class _Outcome:
    """What came of a location: the values of each column, how much was said."""

    values: dict[Column, list[Any]]
    account: tuple[int, int]


class ValuePromises(SourceKit):
    """The tests that write other values into the sample."""

    @promise("texts come as they are written: their case, length and signs", quick=True)
    def test_texts_come_as_they_are(self, tmp_path: Path) -> None:
        self._require_kept(tmp_path, str)

    @promise("numbers keep all their digits, or are rejected, whatever their size", quick=True)
    def test_numbers_keep_their_digits(self, tmp_path: Path) -> None:
        self._require_kept(tmp_path, int, float)

    def _require_kept(self, directory: Path, *kinds: type) -> None:
        location = self.make_files(directory)
        before = _outcome(self.read(location))
        tried: set[Column] = set()
        for path, column, value in _sites(location, before, kinds):
            other, *others = _others(value)
            known = (
                column in tried or len(tried) == TRIED or ".".join(column) in self.changed_values
            )
            # the column has what is written there, also where that is another
            if not known and self._came(location, path, column, value, other, before) is True:
                tried.add(column)
                for new in others:
                    came = self._came(location, path, column, value, new, before)
                    shown = repr(new) if len(repr(new)) < 80 else f"{new!r:.40}..."
                    require(
                        came is True,
                        f"{path.name}: {value!r} written as {shown} comes as {came} in "
                        f"{'.'.join(column)}, and nothing is rejected",
                        "keep values as the input has them, and reject what cannot be kept; where "
                        "a column is changed on purpose, say so in `changed_values`",
                    )
        if not tried:
            does_not_apply("no such value of the rows stands in the sample as it is (known_rows)")

    def _came(
        self, location: Path, path: Path, column: Column, value: Any, new: Any, before: _Outcome
    ) -> Any:
        """True if a value comes that is written in another's place, or is rejected; else others."""
        data = path.read_bytes()
        path.write_bytes(_bounded(value).sub(lambda _: str(new).encode(), data))
        try:
            after = _outcome(self.read(location))
        except SourceError:
            return True
        finally:
            path.write_bytes(data)
        found = after.values.get(column, [])
        odd = [v for v in found if v is not None and v not in before.values[column]]
        if any(type(v) is type(new) and v == new for v in found):
            return True
        return str(odd[:1])[:200] if odd or after.account == before.account else True


def _outcome(pieces: list[Piece]) -> _Outcome:
    values: dict[Column, list[Any]] = {}
    said = rows = 0
    for found in (piece.found for piece in pieces if piece.found is not None):
        rows += found.written
        said += len(found.rejects) + len(found.notes)
        said += (found.filtered + found.folded).total()
        for name, table in found.tables.items():
            for column in table.drop_columns(["origin", "position"]).column_names:
                values.setdefault((name, column), []).extend(table[column].to_pylist())
    refused = sum(piece.found is None for piece in pieces)
    return _Outcome(values, (rows, said + refused))


def _sites(
    location: Path, before: _Outcome, kinds: tuple[type, ...]
) -> Iterator[tuple[Path, Column, Any]]:
    """Values that stand in a file as they are: of each column those that do so most seldom."""
    for path in files_of(location):
        data = path.read_bytes()
        for column, values in before.values.items() if b"\0" not in data else ():
            distinct = dict.fromkeys(v for v in values if type(v) in kinds and _is_plain(v))
            often = [(len(_bounded(value).findall(data)), value) for value in distinct][:20]
            for _, value in sorted((each for each in often if each[0]), key=lambda e: e[0])[:2]:
                yield path, column, value


def _is_plain(value: str | float) -> bool:
    if isinstance(value, str):
        return _WORD.fullmatch(value) is not None
    return len(repr(value)) > 1 and set(repr(value)) <= set("0123456789.-")


def _others(value: str | float) -> list[Any]:
    """Another value like it, and those to try."""
    if isinstance(value, str):
        like = value[:-1] + ("q" if value[-1] != "q" else "z")
        return [like, *(value.swapcase() + tail for tail in TAILS)]
    if type(value) is int:
        return [int(f"{value}"[:-1] + ("7" if f"{value}"[-1] != "7" else "8")), *WHOLE]
    return [0.5 if value != 0.5 else 0.25, *FRACTIONS]  # which single precision holds, too


def _bounded(value: Any) -> re.Pattern[bytes]:
    """A value's text that no word or number goes on before or behind."""
    token = re.escape(str(value).encode())
    return re.compile(rb"(?<![\w\x80-\xff.+-])" + token + rb"(?![\w\x80-\xff+-])(?!\.\w)")

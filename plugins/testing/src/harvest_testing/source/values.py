"""Promises about values: what stands in the input comes as it stands there.

A value of the sample's rows that a file holds to the letter is written otherwise there: with other
letters, longer, with all digits that a number or an instant can have.  It then comes as it is
written, or is rejected.  Nothing of that needs to know the format.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from math import isnan
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import pyarrow as pa

from harvest import SourceError
from harvest_testing.promise import BrokenPromise, does_not_apply, promise, require

from .kit import SourceKit, files_of
from .reading import Piece, all_lines

TRIED = 6
"""Columns whose values are written otherwise, of each kind of value."""

KEPT = (
    "keep values as the input has them, and reject what cannot be kept; where a column is changed "
    "on purpose, say so in `changed_values` of the test class"
)

LONG = "x" * 300
ENDS = ("\0", "\x0b\x0c\x1c\x1d\x85\u2028\u2029")
"""Signs that end a text in C, or a line for ``str.splitlines``, and mean nothing to others."""

ACCENT = "e\u0301 \ufb01"
"""Text that a normalisation of Unicode changes: a letter of two signs, a ligature."""

BLANKS = (b" ", b"\n", b"\r")

BOUNDS = tuple(
    sign * (1 << bits) + more
    for bits in (31, 32, 53, 63, 64)
    for sign in (1, -1)
    for more in (-1, 0, 1)
)
"""Whole numbers around what types of numbers hold: of 32 and 64 bits, and of a float."""

WHOLE = (*BOUNDS, 2**32 + 4711, -3, 0)
FRACTIONS = (0.0, 0.1234567890123457, 16_777_217.25, -2.5, 2.5e-07, 1e22)

_WORD = re.compile(r"[A-Za-z][\w.:/ -]{0,60}[\w.:/-]")
_CLOCK = rb"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(\.\d+)?"
_INSTANT = re.compile(_CLOCK + rb"(?=\D|$)")
_DAYS = ("9876-07-15", "1903-07-15", "2024-02-29")
"""Far from now, where floats and nanoseconds are at their ends; before 1970; and a leap day."""

Column: TypeAlias = tuple[str, str]


@attrs.frozen
class _Site:
    """Where a value of a column stands: in a file, to the letter.

    probe: another text like it, and the value that the column then has.
    """

    path: Path
    column: Column
    value: Any
    token: bytes
    probe: tuple[str, Any]

    def written(self, text: bytes) -> bytes:
        """The file's content with another text in the value's place, wherever it stands."""
        return _bounded(self.token).sub(lambda _: text, self.path.read_bytes())

    @property
    def with_blanks(self) -> str:
        """The value with blanks at the ends where it is not ended by a blank or a line's end."""
        data = b"\n" + self.path.read_bytes() + b"\n"
        left = right = "  "
        for found in _bounded(self.token).finditer(data):
            if data[found.start() - 1 : found.start()] in BLANKS:
                left = ""
            if data[found.end() : found.end() + 1] in BLANKS:
                right = ""
        return f"{left}{self.value}{right}"


@attrs.frozen
class _Outcome:
    """What came of a location: the values of each column, and all of it as text."""

    values: dict[Column, list[Any]]
    rows: int
    said: int
    text: str
    refused: bool

    @property
    def account(self) -> tuple[int, int, bool]:
        """What a reject, a note, or a row less would change."""
        return self.rows, self.said, self.refused

    def known(self, column: Column) -> int:
        """How many values of a column are known."""
        return sum(value is not None for value in self.values.get(column, ()))


class ValuePromises(SourceKit):
    """The tests that write other values into the sample."""

    @promise("texts come as they are written: their case, length, signs and blanks", quick=True)
    def test_texts_come_as_they_are(self, tmp_path: Path) -> None:
        location, before = self._text_sample(tmp_path)
        sites = self._probed(location, _sites(location, before, _token_of_text))
        if not sites:
            does_not_apply("no text of the rows stands in the sample as it is (known_rows)")
        for site in sites:
            wholes = [f"{site.value.swapcase()}{LONG}", f"{site.value}{ACCENT}"]
            wholes += [
                f"{site.value}{more}{LONG[:9]}"
                for more in ENDS[: 1 + site.with_blanks.endswith("  ")]
            ]
            if site.with_blanks != site.value:
                wholes.append(site.with_blanks)
            for whole in wholes:
                self._require(location, before, site, whole, whole, _is_mangled)
            self._require_empty_kept(location, before, site)

    def _require_empty_kept(self, location: Path, before: _Outcome, site: _Site) -> None:
        """A text in quotes that becomes empty is not dropped from its list or map."""
        quoted = b'"' + site.token + b'"'
        if quoted not in site.path.read_bytes() or ".".join(site.column) in self.changed_values:
            return
        after = self._written(location, site, "")
        require(
            after is None
            or after.account != before.account
            or len(after.values.get(site.column, ())) >= len(before.values[site.column]),
            f'{site.path.name}: {quoted.decode()} written as "" is not a value of '
            f"{'.'.join(site.column)} any more, and nothing is rejected",
            KEPT,
        )

    @promise("numbers keep all their digits, or are rejected, whatever their size", quick=True)
    def test_numbers_keep_their_digits(self, tmp_path: Path) -> None:
        location, before = self._text_sample(tmp_path)
        sites = self._probed(location, _sites(location, before, _token_of_number))
        if not sites:
            does_not_apply("no number of the rows stands in the sample as it is (known_rows)")
        for site in sites:
            tried: Sequence[int | float] = FRACTIONS if isinstance(site.value, float) else WHOLE
            for number in tried:
                self._require(location, before, site, repr(number), number, _is_another)
            none = f"{site.probe[0]}kq"  # a number, and something behind it
            self._require(location, before, site, none, none, _is_another)

    def _text_sample(self, directory: Path) -> tuple[Path, _Outcome]:
        location = self.make_files(directory)
        return location, _outcome(self.read(location))

    def _probed(self, location: Path, sites: Iterator[_Site]) -> list[_Site]:
        """Some sites of which the column has what is written there, also where that is another."""
        probed: list[_Site] = []
        tried = 0
        while len(probed) < TRIED and tried < 3 * TRIED and (site := next(sites, None)):
            tried += 1
            if site.column in {other.column for other in probed}:
                continue
            text, value = site.probe
            after = self._written(location, site, text)
            if after is not None and value in after.values.get(site.column, ()):
                probed.append(site)
        return probed

    def _written(self, location: Path, site: _Site, text: str) -> _Outcome | None:
        """What comes of the sample with a text in a value's place; None where it is refused."""
        data = site.path.read_bytes()
        site.path.write_bytes(site.written(text.encode()))
        try:
            return _outcome(self.read(location))
        except SourceError:
            return None
        finally:
            site.path.write_bytes(data)

    def _require(
        self,
        location: Path,
        before: _Outcome,
        site: _Site,
        text: str,
        wanted: Any,
        wrong: Callable[[Any, Any], bool],
    ) -> None:
        """What comes of a text in a value's place is the value that is wanted, or a reject."""
        if ".".join(site.column) in self.changed_values:
            return
        shown = text if len(text) < 80 else f"{text[:40]}...{text[-8:]} ({len(text)} characters)"
        about = f"{site.path.name}: {site.token.decode()!r} written as {shown!r}"
        try:
            after = self._written(location, site, text)
        except BrokenPromise as error:
            error.seen = f"{about}:\n{error.seen}"
            raise
        if after is None:
            return
        if any(wanted == value for value in after.values.get(site.column, ())):
            return
        known = before.values[site.column]
        new = [value for value in after.values.get(site.column, ()) if value not in known]
        mangled = [value for value in new if wrong(value, wanted)]
        require(
            not mangled,
            f"{about} comes as {str(mangled[:1])[:200]} in {'.'.join(site.column)}",
            KEPT,
        )
        silent = after.account == before.account
        less = after.known(site.column) < before.known(site.column)
        lost = silent and (
            less or not any(t in after.text for t in (text, str(wanted), repr(text)[1:-1]))
        )
        require(not lost, f"{about} comes nowhere, and nothing is rejected", KEPT)


def _outcome(pieces: list[Piece]) -> _Outcome:
    values: dict[Column, list[Any]] = {}
    said = rows = 0
    for piece in pieces:
        if piece.found is None:
            continue
        rows += piece.found.written
        said += len(piece.found.rejects) + len(piece.found.notes)
        said += sum(piece.found.filtered.values()) + sum(piece.found.folded.values())
        for name, table in piece.found.tables.items():
            for column in table.column_names:
                if column not in ("origin", "position"):
                    values.setdefault((name, column), []).extend(_single(table[column]))
    refused = any(piece.found is None for piece in pieces)
    return _Outcome(values, rows, said, "\n".join(all_lines(pieces)), refused)


def _single(column: pa.ChunkedArray) -> Iterator[Any]:
    """The values of a column; of lists and maps, those in them."""
    for value in column.to_pylist():
        if isinstance(value, list):
            yield from (item[1] if isinstance(item, tuple) else item for item in value)
        else:
            yield value


def _sites(
    location: Path, before: _Outcome, token_of: Callable[[Any], tuple[str, str, Any] | None]
) -> Iterator[_Site]:
    """Values that stand in a file as they are: of each column the one that does so most seldom."""
    files = [(path, data) for path in files_of(location) if _is_text(data := path.read_bytes())]
    for column, values in before.values.items():
        distinct = dict.fromkeys(v for v in values if isinstance(v, (str, int, float)))
        tokens = [(v, token) for v in distinct if (token := token_of(v)) is not None]
        found = [
            (len(_bounded(text.encode()).findall(data)), path, value, text, probe)
            for path, data in files
            for value, (text, *probe) in tokens[:20]
        ]
        often = sorted((each for each in found if each[0]), key=lambda each: each[0])
        for _, path, value, text, probe in often[:2]:
            yield _Site(path, column, value, text.encode(), tuple(probe))


def _token_of_text(value: Any) -> tuple[str, str, Any] | None:
    if not (isinstance(value, str) and _WORD.fullmatch(value)):
        return None
    other = value[:-1] + ("q" if value[-1] != "q" else "z")
    return value, other, other


def _token_of_number(value: Any) -> tuple[str, str, Any] | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    text = repr(value)
    if not (len(text) > 1 and set(text) <= set("0123456789.-")):
        return None
    other = text[:-1] + ("7" if text[-1] != "7" else "8")
    if isinstance(value, float):  # which single precision holds, too
        other = "0.5" if value != 0.5 else "0.25"
    return text, other, type(value)(other)


def _bounded(token: bytes) -> re.Pattern[bytes]:
    """A token that no word or number goes on before or behind."""
    behind = rb"(?!\d)" if _INSTANT.fullmatch(token) else rb"(?![\w\x80-\xff+-])(?!\.\w)"
    return re.compile(rb"(?<![\w\x80-\xff.+-])" + re.escape(token) + behind)


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return b"\0" not in data and sum(byte > 127 for byte in data) < len(data) // 10


def _is_mangled(value: Any, wanted: Any) -> bool:
    """Whether a text is another made of the one that is wanted: cut, trimmed, in other letters."""
    if not isinstance(value, str) or len(value) < 2:
        return False
    plain, whole = _plain(value), _plain(wanted)
    return plain == whole or (
        len(plain) > 2 and (whole.startswith(plain) or plain in whole[-len(plain) :])
    )


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKD", text).casefold().split())


def _is_another(value: Any, wanted: Any) -> bool:
    """Whether a number or time is near, or is what is left of, the one that is wanted."""
    if isinstance(wanted, datetime):
        return isinstance(value, datetime) and abs(value - wanted) < timedelta(seconds=1)
    return isinstance(value, (int, float)) and not (isinstance(value, bool) or isnan(value))

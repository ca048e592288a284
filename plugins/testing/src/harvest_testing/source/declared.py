"""Promises about what an author declares: settings with an effect, reasons, known rows."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import attrs

from harvest import SourceError
from harvest_testing.promise import does_not_apply, promise, require

from .inputs import BLANK_BEFORE, damaged
from .kit import SourceKit, files_of
from .reading import Piece, all_lines, left_out, rows_from

ODD: dict[type, tuple[Any, ...]] = {
    int: (-1, 0, 1, 1 << 20),
    float: (-1.0, 0.0, 1e300),
    str: ("", " ", "no/such value", "é\n", "(", "*"),
}
"""Values of settings that few expect."""

FIELD, VALUE = "unknownField", "Some Value 4711"


class DeclaredPromises(SourceKit):
    """The tests that compare the source with what its author says about it and its sample."""

    @promise("each setting does something, loses no unit, moves no row and takes texts literally",
             quick=True)  # fmt: skip
    def test_settings_have_an_effect(self, tmp_path: Path) -> None:
        names = [a.name for a in attrs.fields(self.source.Config)]
        if not names:
            does_not_apply("the source has no settings")
        if self.examples is None:
            does_not_apply("it needs examples of the settings, which the plugin's own tests have")
        cuts = {self.partition_setting[0]} if self.partition_setting else set()
        said = {*self.examples, *self.without_effect, *cuts}
        missing = [name for name in names if name not in said]
        require(
            not missing,
            f"no example of {', '.join(missing)}",
            "add a value that changes what comes of the sample to `examples` of the test class, or "
            "say in `without_effect` why there is none",
        )
        location = self.make(tmp_path)
        pieces = self.read(location)
        plain, plain_places = all_lines(pieces), _places(pieces)
        counted = self.units is not None or self.header_lines is not None
        for name, value in self.examples.items():
            try:
                changed = self.read(location, **{name: value})
            except SourceError:  # it may leave nothing to read
                continue
            require(
                all_lines(changed) != plain,
                f"{name} = {value!r} changes nothing of what comes of the sample",
                "let the setting do what it says, or mend `examples` of the test class",
            )
            # a setting may choose inputs; of those that are read with and without it, all counts
            found, before = _units(changed), _units(pieces)
            require(
                not counted
                or all(found[origin] == before[origin] for origin in found.keys() & before.keys())
                or any(p.found is None for p in changed),
                f"{name} = {value!r}: units accounted for are {found}, before {before}",
                "count what a setting leaves out with ctx.filtered(n, reason)",
            )
            places = _places(changed)
            moved = [row for row, held in places.items() if held - plain_places.get(row, held)]
            require(
                not moved,
                f"{name} = {value!r}: positions of rows are others: {moved[:1]}",
                "count positions through all that is read, whatever a setting leaves out",
            )

    @promise("what is filtered or folded is so for declared reasons", quick=True)
    def test_reasons_are_declared(self, tmp_path: Path) -> None:
        if self.counted is None:
            does_not_apply("it needs the reasons, which the plugin's own tests declare (counted)")
        location = self.make(tmp_path)
        found = left_out(self.read(location))
        declared = {reason: count for reason, count in self.counted.items() if count}
        require(
            found == declared,
            f"units of the sample are counted as {found}; the class declares {declared}",
            "count the sample by hand and mend `counted` of the test class; what cannot be read "
            "belongs into ctx.reject",
        )
        others: dict[str, str] = {}
        known = set(self.counted)
        for path, done, _ in damaged(files_of(Path(location)) if Path(location).exists() else ()):
            with contextlib.suppress(SourceError):
                reasons = left_out(self.read(location)).keys() - known
                if done == BLANK_BEFORE:  # whatever the word for a blank line is
                    known |= reasons
                else:
                    others |= dict.fromkeys(reasons, f"{path.name}, {done}")
        require(
            not others,
            f"where the sample is damaged, units are left out: {others}",
            "reject what cannot be read; where it is right to leave it out, declare the reason in "
            "`counted` of the test class, with 0 if the sample has no such unit",
        )

    @promise("rows that were read by hand come as they are", quick=True)
    def test_known_rows_come_as_they_are(self, tmp_path: Path) -> None:
        if not self.known_rows:
            does_not_apply("the class knows no row of the sample (known_rows)")
        rows: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for piece in self.read(self.make(tmp_path)):
            for name, table in piece.found.tables.items() if piece.found else ():
                for row in table.to_pylist():
                    rows.setdefault((name, row["position"]), []).append(row)
        for place, known in self.known_rows.items():
            given = [
                {column: _comparable(row.get(column)) for column in known}
                for row in rows.get(place, [])
            ]
            wanted = {column: _comparable(value) for column, value in known.items()}
            require(
                wanted in given,
                f"{place[0]} at position {place[1]} is {given}, not {wanted}",
                "mend the source, or `known_rows` where you misread the sample",
            )

    @promise("a field that the source does not know is kept in `extra`, or noted", quick=True)
    def test_unknown_fields_are_kept(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        tried = False
        for path in files_of(location):
            data = path.read_bytes()
            more = self.add_field(path, data, FIELD, VALUE)
            if more is None:
                continue
            tried = True
            deeper = more.replace(f'"{VALUE}"'.encode(), f'{{"of": [null, "{VALUE}"]}}'.encode())
            for content in (more, deeper) if f'"{FIELD}"'.encode() in more else (more,):
                path.write_bytes(content)
                pieces = self.read(location)
                path.write_bytes(data)
                rows = [row for piece in pieces for row in rows_from(path, piece)]
                notes = [note for piece in pieces if piece.found for note in piece.found.notes]
                kept = [text for text in rows + notes if FIELD in text]
                about = "" if content == more else ", in a list in an object,"
                require(
                    not rows or (kept and not any("{'of': [None" in text for text in kept)),
                    f"{path.name} with a field {FIELD!r} of value {VALUE!r}{about} in each unit: "
                    f"no row or note has that name, or not as JSON: {kept[:1]}",
                    "put what the record type does not declare into `extra`, as text by name; what "
                    "is not text is text as JSON (json.dumps)",
                )
        if not tried:
            does_not_apply("the kit cannot add a field by name to this format (add_field)")


def _places(pieces: list[Piece]) -> dict[str, set[int]]:
    """The positions of rows, by all else that they say."""
    found: dict[str, set[int]] = {}
    for piece in pieces:
        for name, table in piece.found.tables.items() if piece.found else ():
            for row in table.to_pylist():
                position = row.pop("position")
                found.setdefault(f"{piece.partition.origin} {name} {row}", set()).add(position)
    return found


def _units(pieces: list[Piece]) -> dict[str, int]:
    units: dict[str, int] = {}
    for piece in pieces:
        if piece.found is not None:
            origin = piece.partition.origin
            units[origin] = units.get(origin, 0) + piece.found.accounted
    return units


def _comparable(value: Any) -> Any:
    """Maps as dicts; whole numbers and fractions are different values."""
    if isinstance(value, list) and value and all(isinstance(item, tuple) for item in value):
        return dict(value)
    if isinstance(value, (bool, int, float)):
        return (type(value).__name__, value)
    return value

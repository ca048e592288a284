"""Promises of formats whose inputs are JSON: a document, or one on each line.

What a source makes of a document with an element or value that is damaged is compared with what it
makes of the document otherwise.  Nothing of that needs to know what they mean.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from harvest import SourceError
from harvest_testing.promise import does_not_apply, promise, require

from .kit import SourceKit, files_of, is_input
from .reading import planned, read_all, require_places

TRIED = 60
"""Values of the sample that are written as others, each at another place of its documents."""

OTHERS: tuple[Any, ...] = (None, True, 0, 2.5, "no value of yours", ["it's", None], {"a": [True]})
"""A value of each type that JSON has."""

ALONE = "let an element that cannot be read cost no other: reject it alone, and go on"
WORDS = (
    "reject what is of another type, or write it with json.dumps() where a text belongs; null is "
    "unknown, and neither 0 nor false"
)

LAYOUT: dict[str, Any] = {"ensure_ascii": True, "separators": (" , ", " : ")}

KEEP = "keep nothing between readings: neither in the source nor in a default argument"

MANY = 6_000
"""Elements of a list that is long."""

_Steps: TypeAlias = tuple[tuple[Any, Any], ...]
"""The way to a value: lists and objects, each with the index or name of the next."""


@attrs.frozen
class _Came:
    """What came of a file: rows, how many units, what is reported of units that are not rows."""

    rows: list[tuple[str, dict[str, Any]]]
    units: int
    reported: Counter[str]

    @property
    def texts(self) -> Counter[str]:
        """The rows, as texts."""
        return Counter(f"{kind} {sorted(row.items())}" for kind, row in self.rows)

    @property
    def account(self) -> tuple[int, int]:
        return len(self.rows), self.units

    @property
    def cells(self) -> Counter[Any]:
        """The values of each column; of each its characters, since maps have no order."""
        return Counter(
            (kind, name, *sorted(repr(value)))
            for kind, row in self.rows
            for name, value in row.items()
        )


class DocumentPromises(SourceKit):
    """The tests of JSON, which the kit recognises."""

    @promise("an element or value of another JSON type costs itself alone, and comes in JSON's "
             "words or is reported; one that is there twice is two, and members have no order",
             quick=True)  # fmt: skip
    def test_elements_stand_for_themselves(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        tried: set[tuple[Any, ...]] = set()
        for path, document in _documents(location):
            before = self._came(location, path, document)
            if before is None:
                continue
            for about, other, how in (
                ("members of objects in another order", _turned(document), {}),
                ("blanks and escapes where JSON may have them", document, LAYOUT),
            ):
                turned = self._came(location, path, other, **how)
                require(
                    turned is not None and turned.cells == before.cells,
                    f"{path.name} with {about} gives other rows",
                    "parse JSON as a whole (json.loads), and take members by their names",
                )
            for steps in _ways(document, ()):
                # of a list the first and the others are alike
                place = (path.suffix, *(min(k, 1) if isinstance(k, int) else k for _, k in steps))
                if place not in tried and len(tried) < TRIED:
                    tried.add(place)
                    self._try_value(location, path, document, steps, before)
            again = self._came(location, path, document)
            require(again is not None and again.cells == before.cells,
                    f"{path.name} comes otherwise after others were read", KEEP)  # fmt: skip
            self._require_many(location, path, document, before)
        if not tried:
            does_not_apply("no input of the sample is JSON")

    def _try_value(
        self, location: Path, path: Path, document: Any, steps: _Steps, before: _Came
    ) -> None:
        """Write others in place of a value, which is then as it was."""
        others: Counter[str] = Counter()  # rows that come without the unit that it is in
        holder, key = steps[-1]
        value = holder[key]
        for found, at in (step for step in steps if isinstance(step[0], list)):
            without = self._without(location, path, document, found, at)
            if without is not None and without.account != before.account:
                others = without.texts if without.texts <= before.texts else Counter()
                if found is holder and not isinstance(holder, _Lines):
                    holder.insert(key, value)
                    twice = self._came(location, path, document)
                    del holder[key]
                    about = f"{path.name} with an element twice has no unit more: {value!r:.200}"
                    more = twice is None or twice.units > before.units
                    require(more, about, "count every element with ctx.read(1)")
        holder[key] = _like(value)
        used = not isinstance(value, dict | list) and self._came(location, path, document) != before
        for other in (
            o for o in OTHERS if type(o) is not type(value) and (o != 0 or isinstance(value, float))
        ):
            holder[key] = other
            after = self._came(location, path, document)
            about = f"{path.name}: with {key!r}: {json.dumps(other)}, not {json.dumps(value)[:200]}"
            if after is not None:
                _require_others(about, others, after)
                _require_words(about, other, before, after, used=used)
        del holder[key]
        if isinstance(holder, dict):
            for about, members in (("without", {}), ("with another name of", {f"{key}Q": value})):
                holder.update(members)
                after = self._came(location, path, document)
                if after is not None:
                    _require_others(f"{path.name}: {about} {key!r}", others, after)
            del holder[f"{key}Q"]
            holder[key] = value
        else:
            holder.insert(key, value)

    def _require_many(self, location: Path, path: Path, document: Any, before: _Came) -> None:
        """Of a list that is long, each element counts as it does of one that is twice as long."""
        lists = {id(holder): holder for holder, _ in (way[-1] for way in _ways(document, ()))}
        for found in (held for held in lists.values() if type(held) is list):
            elements = list(found)
            if not elements or not all(isinstance(element, dict) for element in elements):
                continue
            times = max(2, MANY // len(elements))
            found[:] = elements * 2
            twice = self._came(location, path, document, counted=True)
            found[:] = elements * times
            many = self._came(location, path, document, counted=True)
            found[:] = elements
            if twice is not None and many is not None:
                expected = before.units + (twice.units - before.units) * (times - 1)
                about = f"{path.name}: {len(elements)} elements of a list {times} times"
                require(
                    many.units >= expected,
                    f"{about} are {many.units} units, not {expected}",
                    "read all elements, however many there are",
                )

    def _without(
        self, location: Path, path: Path, document: Any, found: list[Any], at: int
    ) -> _Came | None:
        element = found.pop(at)
        came = self._came(location, path, document)
        found.insert(at, element)
        return came

    def _came(
        self,
        location: Path,
        path: Path,
        document: Any,
        *,
        counted: bool = False,
        **layout: Any,
    ) -> _Came | None:
        """What comes of a file with a document; None where it is refused.

        counted: units are counted alone; layout: as for json.dumps.
        """
        data = path.read_bytes()
        each = document if isinstance(document, _Lines) else [document]
        texts = [json.dumps(item, **{"ensure_ascii": False, **layout}) for item in each]
        path.write_text("\n".join(texts) + "\n" * (each is document), "utf-8")
        try:
            source = self.open(location)
            mine = [p for p in planned(source) if is_input(path, p)]
            pieces = self.checked(read_all(source, mine))
        except SourceError:
            return None
        finally:
            path.write_bytes(data)
        require_places(pieces)
        all_found = [piece.found for piece in pieces if piece.found is not None]
        reported: Counter[str] = Counter()
        for found in all_found:
            if not counted:
                _require_whole(path, document, found.rejects)
            reported.update([*found.notes, *(f"{r.raw!r} {r.reason}" for r in found.rejects)])
            reported.update(found.filtered + found.folded)
        tables = [item for found in all_found for item in found.tables.items() if not counted]
        rows = [
            (name, row)
            for name, table in tables
            for row in table.drop_columns(["position"]).to_pylist()
        ]
        units = sum(found.accounted for found in all_found)
        return None if len(all_found) < len(pieces) else _Came(rows, units, reported)


def _require_others(about: str, others: Counter[str], after: _Came) -> None:
    """Rows that do not come of a unit come as they do without it."""
    lost = others - after.texts
    require(not lost, f"{about}, these rows of others are lost or changed: {[*lost][:2]}", ALONE)


def _require_whole(path: Path, document: Any, rejects: Sequence[Any]) -> None:
    """The text of a reject that is an object is one of the document, with all its members."""
    if not rejects:
        return
    held = [document, *(holder[key] for holder, key in (w[-1] for w in _ways(document, ())))]
    for reject in rejects:
        with contextlib.suppress(ValueError):  # cut short, or no object
            text = json.loads(reject.raw)
            about = f"{path.name}: {reject.raw[:200]!r} is rejected, and stands nowhere"
            require(not isinstance(text, dict) or text in held, about, "reject units as they are")


class _Lines(list[Any]):
    """Documents of which each has a line of its own."""


def _require_words(about: str, other: Any, before: _Came, after: _Came, *, used: bool) -> None:
    """What comes of a value of another type is that value, or something that was reported.

    used: whether another value of the same type would have changed what comes.
    """
    known = {repr(value) for _, row in before.rows for value in _leaves(row)}
    new = [v for _, row in after.rows for v in _leaves(row) if repr(v) not in known]
    words, more = repr(other), len(repr(other)) > len("None")
    python = [v for v in new if isinstance(v, str) and (v == words or (more and words in v))]
    require(not python or words == json.dumps(other), f"{about}, a row has {python[:1]}", WORDS)
    if after.reported - before.reported:
        return
    odd = [v for v in new if type(v) in (bool, int) and type(v) is not type(other)]
    if isinstance(other, bool | float):
        require(not odd, f"{about}, a row has {odd[:1]}, and nothing is reported", WORDS)
    lost = len(after.rows) < len(before.rows) and not new and other not in (None, True)
    require(
        not lost and not (used and after.cells == before.cells),
        f"{about}, its rows are lost or come as before, and nothing is reported",
        WORDS,
    )
    if used and len(after.rows) == len(before.rows):
        pairs = [(old[name], row.get(name))
                 for (_, old), (_, row) in zip(before.rows, after.rows, strict=True)
                 for name in old if old[name] != row.get(name)]  # fmt: skip
        wrong = [value for _, value in pairs if value is not None and not value]
        if other is not None:
            wrong = [value for _, value in pairs] if all(v is None for _, v in pairs) else []
        require(not wrong, f"{about}, a row has {wrong[:1]}, and nothing is reported", WORDS)


def _documents(location: Path) -> Iterator[tuple[Path, Any]]:
    """Files that are JSON, or have it on each line, with what they hold."""
    for path in files_of(location):
        data = path.read_bytes()
        try:
            yield path, json.loads(data)
        except ValueError:
            try:
                found = _Lines(json.loads(line) for line in data.splitlines())
            except ValueError:  # another format
                continue
            if any(isinstance(item, dict | list) for item in found):
                yield path, found


def _ways(document: Any, steps: _Steps) -> Iterator[_Steps]:
    """The way to each value that is in a document."""
    if isinstance(document, dict | list):
        for key in list(document) if isinstance(document, dict) else range(len(document)):
            yield (way := (*steps, (document, key)))
            yield from _ways(document[key], way)


def _like(value: Any) -> Any:
    """Another value of the same type, if it is a plain one."""
    if isinstance(value, str):
        return f"{value}q"
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int | float) else value


def _turned(value: Any) -> Any:
    """The same with the members of objects in the opposite order."""
    if isinstance(value, dict):
        return {key: _turned(inner) for key, inner in reversed(value.items())}
    return type(value)(map(_turned, value)) if isinstance(value, list) else value


def _leaves(value: Any) -> Iterator[Any]:
    """All that is not a list, map or object in a value."""
    if isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner)
    else:
        yield value

"""Joins and divides lines that are not one record with the right number of fields.

sacct escapes nothing: a job's name may contain the delimiter or a line break. Then its record has
too many fields or is in pieces. Such lines are joined again by the expected number of fields
and the possible form of each. A division must be the only possible one; every other line is a
reject.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final

import attrs

from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import excerpt
from harvest_toolkit.spans import Ints, Spans

from ..values.fields import FIELDS, FREE, KINDS, Field, field_of
from ..values.ids import why_no_id
from .form import LONGEST, Layout, too_long

EXTRA_FIELDS: Final = 64
"""The largest number of delimiters inside the free fields of a record."""

SEVERAL: Final = "several ways to divide it"

LINES: Final = 1_000
"""The largest number of lines of a record."""

_OWN_SHAPES: Final = {
    "User": r"[\w.@$+\-\\]*",
    "Group": r"[\w.@$+\-\\ ]*",
    "Account": r"[\w.@+\-]*",
    "Partition": r"[\w.,+\-]*",
    "QOS": r"[\w.,+\-]*",
    "Cluster": r"[\w.,\-]*",
    "Layout": r"\w*",
    "NodeList": r"(?:[\w.\- ()]*(?:\[[\w,\-]+\][\w.\-]*)*(?:,(?!$)|$))*",
    "Flags": r"[\w,\-]*",
    "WorkDir": r"(?:/[\s\S]*)?",
    "Constraints": r"(?:[^\s|,&](?:[^\n]*[^\s|,&])?)?",
    # the first word of a command line is a program of Slurm
    "SubmitLine": r"(?:(?:\S*/)?(?:sbatch|srun|salloc|scrontab|scrun)(?:\s[\s\S]*)?)?",
}

# sacct prints these in every row, so an empty field is another one
_NEVER_EMPTY: Final = frozenset(
    ("Elapsed", "Suspended", "CPUTime", "TotalCPU", "UserCPU", "SystemCPU", "Submit", "Start",
     "End")
)  # fmt: skip

_LISTS: Final = {"NodeList", *(f.name for f in FIELDS if f.kind in ("tres", "usage"))}


def _shape(known: Field | None) -> re.Pattern[str]:
    if known is None:
        return re.compile(KINDS["text"].shape)
    if known.name in _OWN_SHAPES:
        return re.compile(_OWN_SHAPES[known.name])
    if known.name in FREE:
        return re.compile(r"[\s\S]*")
    some = "(?=.)" if known.name in _NEVER_EMPTY else ""
    return re.compile(some + KINDS[known.kind].shape, re.ASCII)


@attrs.define
class Joined:
    """The result for odd lines.

    records: index of the first line, and the fields, of each joined record.
    used: indices of lines with the right number of fields that belong to a joined record.
    rejects: index, raw bytes and reason of each rejected line.
    blanks, headers: numbers of lines without a record.
    resume: index from which lines must be read again together with those that follow.
    end: index of the line after the last joined record.
    filled: index of the next line that is not empty.
    marks: number of delimiters before each line, and of all.
    """

    marks: Ints
    records: list[tuple[int, list[str]]] = attrs.field(factory=list)
    used: set[int] = attrs.field(factory=set)
    rejects: list[tuple[int, bytes, str]] = attrs.field(factory=list)
    blanks: int = 0
    headers: int = 0
    resume: int | None = None
    end: int = 0
    filled: int = -1


class Joiner:
    """Joins the odd lines of one dump."""

    def __init__(self, layout: Layout):
        self.layout = layout
        self.due = len(layout.columns)
        self.mark = layout.delimiter
        self.any_mark = re.compile(f"(?={re.escape(layout.delimiter)})")
        fields = [field_of(column) for column in layout.columns]
        self.shapes = [_shape(known) for known in fields]
        free = [known is not None and known.name in FREE for known in fields]
        may_hold_mark = FREE | _LISTS if self.mark == "," else FREE
        self.free = [known is not None and known.name in may_hold_mark for known in fields]
        self.first_free = free[0]
        self.is_id = [column in ("JobID", "JobIDRaw") for column in layout.columns]
        self.last_free = free[-1] and not layout.trailing
        # a line is divided as a continuation of the one before, and then for itself
        self.divide = lru_cache(maxsize=4)(self._divide)
        columns = groupby(range(self.due), key=self.free.__getitem__)
        self.run = max(([] if is_free else [*run] for is_free, run in columns), key=len)
        """The longest run of columns that are not free: a record has it in one line."""

    def join(self, lines: Spans, odd: Sequence[int], marks: Ints, *, at_end: bool) -> Joined:
        """Join the lines at the indices ``odd`` of ``lines``, in ascending order.

        marks: number of delimiters before each line, and of all. at_end: no line follows the last.
        """
        done, oddities, reached = Joined(marks), set(odd), 0
        for first in odd:
            if first < reached:
                continue
            after = self._one(lines, first, oddities, done, at_end)
            if after is None:
                done.resume = first
                break
            reached = after
        return done

    def _one(
        self, lines: Spans, first: int, odd: set[int], done: Joined, at_end: bool
    ) -> int | None:
        """Read the record that begins at line ``first``; return the index of the line after it.

        None if the record may go on behind the last line.
        """
        if self._holds_no_begin(lines, first, odd, done, at_end):
            return first + 1
        stop = min(first + LINES, len(lines.start))
        may_go_on = stop < first + LINES and not at_end  # behind the block
        enough = done.marks[stop] - done.marks[first] >= self.due - (not self.layout.trailing)
        longest = LINES if may_go_on or enough else 1
        text = _decoded(lines.raw(first))
        has_run = self._has_run(text)
        end, complaint = first + 1, ""
        absorbed: set[int] = set()
        while True:
            fields = self._count(text)
            if fields >= self.due:
                found, complaint = self.divide(text) if has_run else (None, "")
                if found is not None:
                    done.records.append((first, list(found)))
                    done.end = end
                    done.used |= absorbed
                    return end
                if fields > self.due + EXTRA_FIELDS or complaint:
                    break
            if end - first >= longest:
                break
            if end == len(lines.start):
                # a block never ends between a record and the rest of its last field
                if not at_end and not (self.last_free and self.mark not in text):
                    return None
                break
            more = lines.raw(end)
            if len(more) > LONGEST or not self._continues(text, more, end in odd):
                break
            added = _decoded(more)
            has_run = has_run or self._has_run(added)
            text = f"{text}\n{added}"
            if end not in odd:
                absorbed.add(end)
            end += 1
        if not self._append(lines, first, odd, done):
            cut_off = at_end and end == first + 1 == len(lines.start)
            self._give_up(lines.raw(first), first, done, complaint, cut_off=cut_off)
        return first + 1

    def _has_run(self, line: str) -> bool:
        """Return whether a line may hold the longest run of columns that are not free."""
        pieces = line.split(self.mark)
        if len(self.any_mark.findall(line)) != len(pieces) - 1:
            return True  # "a:::" is "a:" before "::" or "a" before ":::"
        shapes = [self.shapes[column] for column in self.run]
        begins = range(len(pieces) - len(shapes) + 1)
        return any(all(map(re.Pattern.fullmatch, shapes, pieces[begin:])) for begin in begins)

    def _holds_no_begin(
        self, lines: Spans, first: int, odd: set[int], done: Joined, at_end: bool
    ) -> bool:
        """Return whether a line begins no record; if so, account for the line."""
        line = lines.raw(first)
        if self.layout.header is not None and line == self.layout.header:
            done.headers += 1
        elif len(line) > LONGEST:
            done.rejects.append((first, line, too_long(len(line))))
        elif not line.strip() and self._is_gap(lines, first, done, at_end):
            done.blanks += 1
        elif not line.strip() and not self.first_free:  # no record begins so
            if not self._append(lines, first, odd, done):
                done.blanks += 1
        else:
            return False
        return True

    def _give_up(
        self, line: bytes, index: int, done: Joined, complaint: str, *, cut_off: bool
    ) -> None:
        """Reject a line that is part of no record. cut_off: the input ends with this line."""
        if not line.strip():
            done.blanks += 1
            return
        fields = self._count(_decoded(line))
        counted = f"{count_in_words(fields, 'field')} instead of {self.due}"
        reason = f"{counted}, and no way to divide or join them"
        if complaint == SEVERAL:
            reason = f"{counted}, and {SEVERAL}"
        elif complaint:
            reason = complaint
        elif fields == self.due:
            reason = self._misfits(_decoded(line)) or reason
        elif fields < self.due and cut_off:
            reason = f"the file ends inside this record: {fields} of {self.due} fields"
        done.rejects.append((index, line, reason))

    def _misfits(self, text: str) -> str:
        pieces = text.split(self.mark)[: self.due]
        found = zip(self.layout.columns, self.shapes, self.is_id, pieces, strict=True)
        return "; ".join(
            f"{column}: {excerpt(piece)!r}: "
            f"{why_no_id(piece) if is_id else 'not what sacct prints there'}"
            for column, shape, is_id, piece in found
            if not shape.fullmatch(piece)
        )

    def _is_gap(self, lines: Spans, index: int, done: Joined, at_end: bool) -> bool:
        """Return whether an empty line separates records, and is not part of a field."""
        if not (self.last_free or self.first_free):
            return True
        if self.layout.header is None:
            return False
        if done.filled <= index:
            ahead = range(index + 1, len(lines.start))
            done.filled = next((i for i in ahead if lines.raw(i).strip()), len(lines.start))
        if done.filled == len(lines.start):
            return at_end
        return lines.raw(done.filled) == self.layout.header

    def _inside_first(self, text: str) -> bool:
        """Return whether a record that begins like this is still inside its first, free field."""
        if not self.first_free:
            return False
        tokens = text.split(self.mark)
        for column, token in enumerate(tokens[1:], start=1):
            whole = column < len(tokens) - 1
            if column >= self.due or (whole and not self.shapes[column].fullmatch(token)):
                return True
            if self.is_id[column] and not whole and not token[:1].isdigit():
                return True
        return len(tokens) == 1

    def _continues(self, before: str, line: bytes, is_odd: bool) -> bool:
        """Return whether a line may continue a record that begins with the text ``before``."""
        if is_odd and line == self.layout.header:
            return False
        # a complete record can continue another one only inside that one's first field
        alone = not is_odd or self.may_be_record(_decoded(line), several=False)
        return not alone or self._inside_first(before)

    def _append(self, lines: Spans, index: int, odd: set[int], done: Joined) -> bool:
        more = _decoded(lines.raw(index))
        if not self.last_free or index == 0 or self.mark in more:
            return False
        if done.records and done.end == index:
            if index - done.records[-1][0] >= LINES:
                return False
            done.records[-1][1][-1] += f"\n{more}"
            done.end += 1
            return True
        if index - 1 in odd:
            return False
        start = _decoded(lines.raw(index - 1)).split(self.mark)
        if len(start) != self.due:
            return False
        start[-1] += f"\n{more}"
        done.records.append((index - 1, start))
        done.end = index + 1
        done.used.add(index - 1)
        return True

    def _count(self, text: str) -> int:
        return text.count(self.mark) + (not self.layout.trailing)

    def may_be_record(self, text: str, *, several: bool = True) -> bool:
        """Return whether a text can be divided into a record's fields, or in several ways."""
        if self._count(text) < self.due or not any(map(self._has_run, text.split("\n"))):
            return False
        fields, complaint = self.divide(text)
        return fields is not None or (several and complaint == SEVERAL)

    def _divide(self, text: str) -> tuple[Sequence[str] | None, str]:
        """Return the fields of a record, or None and the reason."""
        if self.layout.trailing and not text.endswith(self.mark):
            return None, ""
        if self._count(text) - self.due > EXTRA_FIELDS:
            return None, f"{self._count(text)} fields instead of {self.due}"
        size = len(self.mark)
        stop = len(text) - size * self.layout.trailing
        places = [
            p for found in self.any_mark.finditer(text) if (p := found.start()) <= stop - size
        ]
        ways: dict[tuple[int, int], tuple[int, int]] = {}

        def count(column: int, begin: int) -> int:
            """Count the ways (2 means several) to fill columns from ``column`` on, and keep one."""
            if (column, begin) in ways:
                return ways[column, begin][0]
            found = chosen = 0
            rest = self.due - 2 - column  # delimiters of the columns behind this one
            last = column == self.due - 1
            ends = [stop] if last else places[bisect_left(places, begin) : len(places) - rest]
            for end in ends:
                piece = text[begin:end]
                if not self.free[column] and self.mark in piece:
                    break
                if begin <= end and self.shapes[column].fullmatch(piece):
                    more = count(column + 1, end + size) if column < self.due - 1 else 1
                    if more:
                        found, chosen = found + more, end
                if found > 1:
                    break
            ways[column, begin] = (min(found, 2), chosen)
            return min(found, 2)

        total = count(0, 0)
        if total != 1:
            return None, SEVERAL if total else ""
        fields, begin = [], 0
        for column in range(self.due):
            end = ways[column, begin][1]
            fields.append(text[begin:end])
            begin = end + size
        return fields, ""


def _decoded(line: bytes) -> str:
    """Decode a line; bytes that are not UTF-8 become ``\\xNN``."""
    return line.decode("utf-8", "backslashreplace")

"""Parse the texts of Yappi: callgrind, and printed thread tables.

No file that Yappi saves contains threads; ``get_thread_stats().print_all(out=file)`` prints them.

Callgrind begins with a header. For each function, two lines define its number: ``fl=(N) FILE`` and
``fn=(N) NAME FILE:LINE``. Then each has a block: ``fl=(N)``, ``fn=(N)``, ``LINE MICROSECONDS`` (own
time), and for each callee ``cfl=(M)``, ``cfn=(M)``, ``calls=COUNT 0`` and ``0 MICROSECONDS``. A
function may have further numbers, as a callee: Yappi merges functions of one name, file and line.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import attrs

from .kinds import LONGEST
from .records import Thread

_REFERENCE: Final = re.compile(r"(fl|fn|cfl|cfn)=\((\d{1,18})\)(?: (.*))?")
_CALLS: Final = re.compile(r"calls=(\d{1,18}) \d+")
_COST: Final = re.compile(r"(\d{1,18}) (\d{1,18})")
_PLACE: Final = re.compile(r"(.*):(\d{1,18})")
_PID: Final = re.compile(r"pid:\s*(\d{1,18})\s*")
_NO_ROWS: Final = ("version:", "creator:", "cmd:", "part:", "events:")
_TABLE: Final = re.compile(r"name +id +(tid +)?ttot +scnt")
_NUMBERS: Final = re.compile(r"(-?\d{1,18}) (?:(\d{1,18}) )?(\d{1,18}\.\d{1,18}) (\d{1,18})")


@attrs.define
class Subject:
    """A function.

    line: line in the saved file that defines it; None in pstat. own_us: None without a block.
    calls: calls of the function. above_us: time of these calls. below_us: time in its callees.
    """

    name: str
    module: str | None = None
    lineno: int | None = None
    line: int | None = None
    own_us: int | None = None
    calls: int = 0
    above_us: int = 0
    below_us: int = 0


@attrs.define
class Edge:
    """Calls of one function by another."""

    line: int
    caller: Subject
    callee: Subject
    calls: int
    us: int


@attrs.define
class Profile:
    """A saved profile, read line by line.

    reject: called with line number, text and reason for each line that cannot be used.
    unnamed: number of callees without a name, which old versions omit.
    """

    reject: Callable[[int, str, str], None]
    pid: int | None = None
    unnamed: int = 0
    functions: dict[int, Subject] = attrs.field(factory=dict)
    named: dict[str, Subject] = attrs.field(factory=dict)  # each function once, by its text
    edges: list[Edge] = attrs.field(factory=list)
    # the files by number, the current block and its callee, and line and number of its calls
    _files: dict[int, str] = attrs.field(factory=dict)
    _current: int | None = None
    _callee: int | None = None
    _calls: tuple[int, int] | None = None

    def line(self, number: int, text: str) -> None:
        """Read a line."""
        if len(text) > LONGEST:
            self.reject(number, text, f"a line of more than {LONGEST} bytes")
            return
        if not text or text.startswith(("#", *_NO_ROWS)):
            return
        if found := _PID.fullmatch(text):
            self.pid = int(found[1])
        elif found := _REFERENCE.fullmatch(text):
            self._reference(number, text, found[1], int(found[2]), found[3])
        elif found := _CALLS.fullmatch(text):
            self.drop_calls()
            self._calls = (number, int(found[1]))
        elif found := _COST.fullmatch(text):
            self._cost(number, text, int(found[1]), int(found[2]))
        else:
            self.reject(number, text, "not a line of Yappi's callgrind format")

    def drop_calls(self) -> None:
        """Reject a line of calls that no cost follows."""
        if self._calls is not None:
            line, count = self._calls
            self.reject(line, f"calls={count}", "the cost of these calls is missing")
        self._calls = None

    def _reference(self, line: int, text: str, word: str, number: int, rest: str | None) -> None:
        if word in ("fn", "cfn"):
            self.drop_calls()
        if word == "fl" and rest is not None:
            self._files[number] = rest
        elif word == "fn" and rest is not None:
            if number in self.functions:
                self.reject(line, text, f"function {number} is defined twice")
                return
            subject = _define(line, rest, self._files.get(number))
            self.functions[number] = self.named.setdefault(rest, subject)
        elif word == "fn" and number not in self.functions:
            self.reject(line, text, f"function {number} is not defined")
            self._current = self._callee = None  # the lines that follow belong to no function
        elif word == "fn":
            self._current, self._callee = number, None
        elif word == "cfn":
            if number not in self.functions:
                self.functions[number] = self.named[text] = Subject(f"({number})", line=line)
                self.unnamed += 1
            self._callee = number

    def _cost(self, line: int, text: str, place: int, cost: int) -> None:
        if self._callee is not None and self._calls is not None and self._current is not None:
            started, calls = self._calls
            caller, callee = (self.functions[n] for n in (self._current, self._callee))
            self.edges.append(Edge(started, caller, callee, calls, cost))
            callee.calls += calls
            if caller is not callee:  # the time of a recursion is part of the own time already
                caller.below_us += cost
                callee.above_us += cost
            self._callee = self._calls = None
        elif self._current is not None and self._callee is None:
            subject = self.functions[self._current]
            if subject.own_us is not None:
                self.reject(line, text, f"function {self._current} has a second cost of its own")
                return
            subject.own_us = cost
            subject.lineno = place if subject.lineno is None else subject.lineno
        else:
            self.reject(line, text, "a cost that belongs to no function")


def _define(line: int, rest: str, module: str | None) -> Subject:
    place = _PLACE.fullmatch(rest)
    if place is None:
        return Subject(rest, module, line=line)
    # names and files may both contain blanks, so take the file from its own line
    if module is not None and place[1].endswith(f" {module}"):
        name = place[1][: -len(module) - 1]
    else:
        name, _, module = place[1].partition(" ")
    return Subject(name, module, int(place[2]), line)


def parse_callgrind(lines: Iterable[str], reject: Callable[[int, str, str], None]) -> Profile:
    """Parse the lines of a saved file; reject: as in :class:`Profile`."""
    profile = Profile(reject)
    for number, line in enumerate(lines, start=1):
        profile.line(number, line)
    profile.drop_calls()
    return profile


def parse_threads(lines: Iterable[str], reject: Callable[[int, str], None]) -> Iterator[Thread]:
    """Yield the rows of all thread tables in a text; a table ends at an empty line.

    A row's ``thread`` is None for greenlets.
    reject: called with line number and text for each line within a table that is not a row.
    """
    inside = with_thread = False
    for number, raw in enumerate(lines, start=1):
        if len(raw) > LONGEST:
            if inside:
                reject(number, raw)
            continue
        text = raw.strip()
        if header := _TABLE.fullmatch(text):
            inside, with_thread = True, header[1] is not None
        elif not text:
            inside = False
        elif inside:
            # split from the right, since a name may contain blanks and numbers
            name, *numbers = text.rsplit(None, 4 if with_thread else 3)
            found = _NUMBERS.fullmatch(" ".join(numbers))
            if found is None or (found[2] is not None) != with_thread:
                reject(number, raw.rstrip("\r\n"))
                continue
            yield Thread(
                thread=int(found[2]) if found[2] else None,
                name=name,
                ttot_s=float(found[3]),
                number=int(found[1]),
                scnt=int(found[4]),
                position=number,
            )

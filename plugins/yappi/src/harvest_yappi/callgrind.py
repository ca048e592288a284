"""Parse Yappi's callgrind text.

The text begins with a header. For each function, two lines define its number: ``fl=(N) FILE`` and
``fn=(N) NAME FILE:LINE``. Then each has a block: ``fl=(N)``, ``fn=(N)``, ``LINE MICROSECONDS`` (own
time), and for each callee ``cfl=(M)``, ``cfn=(M)``, ``calls=COUNT 0`` and ``0 MICROSECONDS``.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final

import attrs

from .kinds import LONGEST

_REFERENCE: Final = re.compile(r"(fl|fn|cfl|cfn)=\((\d{1,18})\)(?: (.*))?")
_CALLS: Final = re.compile(r"calls=(\d{1,18}) \d+")
_COST: Final = re.compile(r"(\d{1,18}) (\d{1,18})")
_PLACE: Final = re.compile(r"(.*):(\d{1,18})")
_PID: Final = re.compile(r"pid:\s*(\d{1,18})\s*")
_HEADER: Final = ("version:", "creator:", "cmd:", "part:", "events:")


@attrs.define
class Subject:
    """A function.

    line: line in the saved file that defines it. own_us: None without a block.
    calls: calls of the function. above_us: time of these calls. below_us: time in its callees.
    """

    line: int
    name: str
    module: str | None = None
    lineno: int | None = None
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
    """A saved profile. unnamed: number of callees without a name, which old versions omit."""

    pid: int | None = None
    unnamed: int = 0
    functions: dict[int, Subject] = attrs.field(factory=dict)
    edges: list[Edge] = attrs.field(factory=list)


@attrs.define
class _Reader:
    """The parser and its state: the current block, the current callee and its calls."""

    reject: Callable[[int, str, str], None]
    profile: Profile = attrs.field(factory=Profile)
    files: dict[int, str] = attrs.field(factory=dict)
    current: int | None = None
    callee: int | None = None
    calls: tuple[int, int] | None = None  # line and number

    def line(self, number: int, text: str) -> None:
        if len(text) > LONGEST:
            self.reject(number, text, f"a line of more than {LONGEST} bytes")
            return
        if not text or text.startswith(("#", *_HEADER)):
            return
        if found := _PID.fullmatch(text):
            self.profile.pid = int(found[1])
        elif found := _REFERENCE.fullmatch(text):
            self._reference(number, text, found[1], int(found[2]), found[3])
        elif found := _CALLS.fullmatch(text):
            self.drop_calls()
            self.calls = (number, int(found[1]))
        elif found := _COST.fullmatch(text):
            self._cost(number, text, int(found[1]), int(found[2]))
        else:
            self.reject(number, text, "not a line of Yappi's callgrind format")

    def drop_calls(self) -> None:
        """Reject a line of calls that no cost follows."""
        if self.calls is not None:
            line, count = self.calls
            self.reject(line, f"calls={count}", "the cost of these calls is missing")
        self.calls = None

    def _reference(self, line: int, text: str, word: str, number: int, rest: str | None) -> None:
        if word in ("fn", "cfn"):
            self.drop_calls()
        if word == "fl" and rest is not None:
            self.files[number] = rest
        elif word == "fn" and rest is not None:
            if number in self.profile.functions:
                self.reject(line, text, f"function {number} is defined twice")
                return
            self.profile.functions[number] = self._define(line, number, rest)
        elif word == "fn" and number not in self.profile.functions:
            self.reject(line, text, f"function {number} is not defined")
            self.current = self.callee = None  # the lines that follow belong to no function
        elif word == "fn":
            self.current, self.callee = number, None
        elif word == "cfn":
            if number not in self.profile.functions:
                self.profile.functions[number] = Subject(line, f"({number})")
                self.profile.unnamed += 1
            self.callee = number

    def _define(self, line: int, number: int, rest: str) -> Subject:
        module = self.files.get(number)
        place = _PLACE.fullmatch(rest)
        if place is None:
            return Subject(line, rest, module)
        # names and files may both contain blanks, so take the file from its own line
        if module is not None and place[1].endswith(f" {module}"):
            name = place[1][: -len(module) - 1]
        else:
            name, _, module = place[1].partition(" ")
        return Subject(line, name, module, int(place[2]))

    def _cost(self, line: int, text: str, place: int, cost: int) -> None:
        if self.callee is not None and self.calls is not None and self.current is not None:
            started, calls = self.calls
            caller, callee = (self.profile.functions[n] for n in (self.current, self.callee))
            self.profile.edges.append(Edge(started, caller, callee, calls, cost))
            callee.calls += calls
            if caller is not callee:  # the time of a recursion is part of the own time already
                caller.below_us += cost
                callee.above_us += cost
            self.callee = self.calls = None
        elif self.current is not None and self.callee is None:
            subject = self.profile.functions[self.current]
            if subject.own_us is not None:
                self.reject(line, text, f"function {self.current} has a second cost of its own")
                return
            subject.own_us = cost
            subject.lineno = place if subject.lineno is None else subject.lineno
        else:
            self.reject(line, text, "a cost that belongs to no function")


def parse_callgrind(lines: Iterable[str], reject: Callable[[int, str, str], None]) -> Profile:
    """Parse the lines of a saved file.

    reject: called with line number, text and reason for each line that cannot be used.
    """
    reader = _Reader(reject)
    for number, line in enumerate(lines, start=1):
        reader.line(number, line)
    reader.drop_calls()
    return reader.profile

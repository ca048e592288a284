"""Cut JSON of any size into the elements of its documents, in bounded memory.

    for piece in JsonPieces(stream, "jobs", ("errors",), mark="job_id", noun="job"):
        if piece.kind == "element":
            job = orjson.loads(piece.raw)

The input is one or several values, one behind another.  A value is a document (an object with an
array of elements), a single element as ``jq -c '.jobs[]'`` prints it, or an array of either as
``jq .jobs`` and ``jq -s .`` print it.  A value that is cut off ends where the next value begins
at the start of a line.
"""

import re
from collections.abc import Iterable, Iterator
from typing import IO, Final

import attrs

__all__ = ["JsonPieces", "Piece", "Unreadable"]

BLOCK_BYTES: Final = 4 * 1024 * 1024

LONGEST: Final = 64 * 1024 * 1024
"""Bytes of the longest element."""

_SHOWN: Final = 64 * 1024
_BEFORE: Final = 200
"""Bytes before a fault that are shown or looked at."""

_TEXT: Final = rb'"(?:[^"\\\n]++|\\.|\n(?![{\[]))*+"'
_REST: Final = rb'[{}\[\]]|"'
_TOKEN: Final = re.compile(_TEXT + rb'|[^"{}\[\]]+|' + _REST, re.DOTALL)
"""A string, anything between strings and brackets, a bracket, or an unfinished string's quote."""

_INSIDE: Final = re.compile(rb'(?:[^"{}\[\]]++|' + _TEXT + rb")++|" + _REST, re.DOTALL)
"""The same in depths without elements: everything up to the next bracket is one token."""

_NEXT: Final = re.compile(rb"\n(?=[{\[])")
_BLANK: Final = b" \t\r\n\x1e\xef\xbb\xbf"  # with the record separator (RFC 7464) and a BOM

TOO_LONG: Final = f"longer than {LONGEST} bytes; what follows in the file is not read"
NO_OBJECT: Final = "an element that is not an object"
STRAY: Final = "text outside of the JSON"
ENDS_EARLY: Final = "it ends early: the next JSON begins on a line of its own"


class Unreadable(ValueError):
    """Raised by a stream that cannot be read any further."""


@attrs.frozen
class Piece:
    """A piece of the input.

    kind: ``element``; the name of another array for an element of that array; ``none`` for a value
        that neither is nor has an element; ``broken`` with a reason; ``end`` of a value.
    """

    kind: str
    raw: bytes = b""
    reason: str = ""


class JsonPieces:
    """Iterator over the pieces of a stream, in order.

    array: name of a document's array whose elements (objects) are wanted.
    others: names of further arrays whose elements are also yielded.
    mark: a member that marks a single element.  noun: words for an element.
    The stream may raise :class:`Unreadable`.
    """

    # depth: count of open brackets; base: 1 inside an array around all values, else 0
    # stray, top, unit: where text outside JSON, the value and its element begin; -1 for none

    def __init__(
        self, stream: IO[bytes], array: str, others: Iterable[str] = (), *, mark: str, noun: str
    ):
        self.kinds = {f'"{name}"'.encode(): name for name in others}
        self.kinds[f'"{array}"'.encode()] = "element"
        self.mark = f'"{mark}"'.encode()
        self.noun = noun
        self.stream = stream
        self.buffer = b""
        self.place = self.base = 0
        self.at_end = False
        self.trouble = ""
        self._begin()

    def _begin(self) -> None:
        self.depth = self.base
        self.stray = self.top = self.unit = -1
        self.key = b""
        self.array: str | None = None
        self.is_object = self.is_element = self.is_document = False

    def __iter__(self) -> Iterator[Piece]:
        while not self.at_end:
            self._fill()
            yield from self._scan()
            keep = self._needed()
            if len(self.buffer) - keep > LONGEST:
                yield Piece("broken", self.buffer[keep : keep + _SHOWN], TOO_LONG)
                return
        self.place = len(self.buffer)
        yield from self._cut(self.trouble)

    def _needed(self) -> int:
        return next((at for at in (self.stray, self.top, self.unit) if at >= 0), self.place)

    def _fill(self) -> None:
        try:
            more = self.stream.read(BLOCK_BYTES)
        except Unreadable as error:
            more, self.trouble = b"", str(error)
        self.at_end = not more
        keep = self._needed()
        self.buffer = self.buffer[keep:] + more
        self.place -= keep
        self.stray, self.top, self.unit = (
            max(-1, at - keep) for at in (self.stray, self.top, self.unit)
        )

    def _scan(self) -> Iterator[Piece]:
        while True:
            inside = self.depth - self.base > 2
            token = (_INSIDE if inside else _TOKEN).match(self.buffer, self.place)
            if token is None:
                return
            text, end = token[0], token.end()
            if text == b'"':
                if self.depth == 0 and self.stray < 0:
                    self.stray = self.place
                following = _NEXT.search(self.buffer, self.place)
                if following is None:
                    return
                self.place = following.end()
                yield from self._cut(ENDS_EARLY)
                continue
            if end == len(self.buffer) and not self.at_end and text != b"}":
                return  # it may go on in the next block
            if text in (b"{", b"["):
                if self._begins_anew():
                    yield from self._cut(ENDS_EARLY)
                yield from self._open(text)
            elif text in (b"}", b"]"):
                yield from self._close(end)
            elif not inside:
                yield from self._text(text)
            self.place = end

    def _begins_anew(self) -> bool:
        """Whether a bracket at the start of a line cannot continue the open value.

        That holds after anything without a comma behind it, and for JSON in one line.
        """
        if not self.depth or self.buffer[max(0, self.place - 1) : self.place] != b"\n":
            return False
        begin = self.top if self.unit < 0 and not self.array else self.unit
        if begin >= 0 and self.buffer.find(b"\n", begin, self.place - 1) < 0:
            return True
        before = self.buffer[max(0, self.place - _BEFORE) : self.place].rstrip()
        return before[-1:] not in b"[,:"

    def _open(self, mark: bytes) -> Iterator[Piece]:
        level = self.depth - self.base
        if self.depth == 0:
            yield from self._cut()
        if self.depth == 0 and mark == b"[":
            self.base = 1
        elif level == 0:
            self.top, self.is_object = self.place, mark == b"{"
        elif level == 1 and mark == b"[":
            self.array = self.kinds.get(self.key)
            if self.array == "element":
                self.is_document, self.top = True, -1
        elif level == 2 and self.array:
            self.unit = self.place
        self.depth += 1

    def _close(self, end: int) -> Iterator[Piece]:
        level = self.depth - self.base - 1
        if self.depth == 0:
            self.stray = self.place if self.stray < 0 else self.stray
            return
        self.depth -= 1
        if level < 0:
            self.base = 0
        elif level == 0:
            raw = self.buffer[self.top : end]
            if not self.is_object:
                yield Piece("broken", raw, NO_OBJECT)
            elif not self.is_document:
                yield Piece("element" if self.is_element else "none", raw)
            yield Piece("end")
            self._begin()
        elif level == 1:
            self.array = None
        elif level == 2 and self.unit >= 0:
            raw, self.unit = self.buffer[self.unit : end], -1
            yield self._element(raw)

    def _element(self, raw: bytes) -> Piece:
        """Make the piece of an element, or a broken piece of a value that is not an object."""
        kind = self.array or "element"
        if kind == "element" and raw[:1] != b"{":
            return Piece("broken", raw, NO_OBJECT)
        return Piece(kind, raw)

    def _text(self, text: bytes) -> Iterator[Piece]:
        """Handle a quoted string, or the text between strings and brackets."""
        level = self.depth - self.base
        if self.depth == 0:
            if self.stray < 0 and text.strip(_BLANK):
                self.stray = self.place
        elif level == 0 or (level == 2 and self.array):
            for item in [text] if text[:1] == b'"' else text.split(b","):
                if item.strip():
                    yield self._element(item.strip())
        elif level == 1 and self.is_object and text[:1] == b'"':
            self.key = text
            self.is_element |= text == self.mark

    def _cut(self, reason: str = "") -> Iterator[Piece]:
        """End the open value at this place."""
        begin = self._needed()
        if self.depth:
            if begin == self.place:
                begin = max(0, begin - _BEFORE)
            inside = self.is_element or (self.array == "element" and self.unit >= 0)
            where = f"inside this {self.noun}" if inside else "before its JSON does"
            raw = self.buffer[begin : self.place]
            yield Piece("broken", raw, reason or f"the file ends {where}")
            yield Piece("end")
        else:
            rest = self.buffer[begin : self.place].strip(_BLANK)
            if rest or self.trouble:
                yield Piece("broken", rest[:_SHOWN], reason or STRAY)
        self.base = 0
        self._begin()

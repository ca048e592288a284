"""Reference parser: one line of a list in plain Python, which defines what a line means.

The columnar parser returns the same rows. It passes every line that does not match the list's
layout exactly to this parser, which finds the error.

- The bytes between values must be the same as in the list's first lines. A text ends at the first
  occurrence of the bytes after it; other values end where their own format ends.
- Numbers are digits without a sign (uid and gid may have a minus) and fit 63 bits, the inode 64.
- Times are ``2026-01-31 12:00:00`` with at most six decimals, on a valid calendar day.
- Text and heat may be missing. A missing number or time is an error.
- Names are bytes. A NUL is an error, and so is a percent sign or backslash outside an escape.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from .layout import LONGEST_LINE, Layout, Step, Type

Row = dict[str, Any]
"""Values by column; ``extra`` is a dict. Columns that the list does not have are absent."""


class Damaged(ValueError):
    """Error for a line that cannot be read; the message gives the reason."""


_NUMBER: Final = re.compile(rb"-?[0-9]+")
_HEX_NUMBER: Final = re.compile(rb"[0-9a-fA-F]+")
_MARKS: Final = {
    False: (b" ", b":", rb"\+"),
    True: (b"(?: |%20)", b"(?::|%3A)", rb"(?:\+|%2B)"),
}
"""Patterns of blank, colon and plus in values, for unescaped and for escaped lists."""

_TIME: Final = {
    escaped: re.compile(
        rb"(\d{4})-(\d\d)-(\d\d)%b(\d\d)%b(\d\d)%b(\d\d)(?:\.(\d{1,6}))?(?!\d)"
        % (blank, colon, colon),
        re.IGNORECASE,
    )
    for escaped, (blank, colon, _) in _MARKS.items()
}
_REAL: Final = {
    escaped: re.compile(
        rb"(%b|-)?(\d+(?:\.\d+)?)(?:[eE](%b|-)?(\d{1,3})(?!\d))?" % (plus, plus), re.IGNORECASE
    )
    for escaped, (_, _, plus) in _MARKS.items()
}
_MODE: Final = re.compile(r"[-dlbcps][-rwxsStTlL]{9}[+@.]?")
_FLAGS: Final = re.compile(r"[!-~]*")
_COUNT: Final = re.compile(rb"-?([0-9]{1,18})!")
_ESCAPES: Final = {
    b"%": re.compile(rb"%([0-9a-fA-F]{2})?"),
    b"\\": re.compile(rb"\\([n\\])?"),
}

_KIND_OF_FLAG: Final = {"F": "file", "D": "directory", "L": "symlink", "O": "other"}
_KIND_OF_MODE: Final = {"-": "file", "d": "directory", "l": "symlink"}


def parse(layout: Layout, line: bytes) -> Row:
    """Parse a line, given without its line end.

    Raises Damaged if the line is not valid.
    """
    if len(line) > LONGEST_LINE:
        size = f"a line of {len(line)} bytes"
        raise Damaged(f"{size}, longer than any path makes it ({LONGEST_LINE})")
    return _Line(layout, line).row()


class _Line:
    """A line during parsing; ``place`` is the current position."""

    def __init__(self, layout: Layout, line: bytes):
        self.layout = layout
        self.line = line
        self.place = 0
        self.values: Row = {}
        self.extra: dict[str, str] = {}
        self.kinds: dict[Type, str] = {}
        self.escape = layout.escape  # byte that starts an escape in SHOW
        self.relative: bytes | None = None
        self.path: bytes | None = None

    def row(self) -> Row:
        layout = self.layout
        for index, step in enumerate(layout.steps):
            self._expect(step.before, f"before {step.name}")
            value = self._value(index, step)
            if step.column is not None and step.column != "path":
                self.values[step.column] = value
            elif step.column is None and step.kept:
                self.extra[step.name] = value or ""
        last = layout.steps[-1].name
        self._expect(layout.end, f"after {last}")
        if layout.record:
            if self.place != len(self.line):
                raise Damaged(f"{_quoted(self.line[self.place :])} after the record's end")
            path = self.path if self.path is not None else self.relative
        else:
            path = unescape(self.line[self.place :], "path", layout.path_escape)
        assert path is not None
        if not path:
            raise Damaged("the path is missing")
        if not path.startswith(b"/") and not (layout.record and self.path is None):
            raise Damaged(f"path: {_quoted(path)} does not begin with /")
        self.values["path"], self.values["path_raw"] = shown(path)
        by_flags, by_mode = self.kinds.get(Type.FLAGS), self.kinds.get(Type.MODE)
        if by_flags and by_mode and by_flags != by_mode:
            flags, mode = self.values["flags"], self.values["mode"]
            raise Damaged(f"flags {flags!r} mean a {by_flags}, mode {mode!r} a {by_mode}")
        self.values["kind"] = by_flags or by_mode
        self.values["extra"] = self.extra or None
        return self.values

    def _expect(self, literal: bytes, where: str) -> None:
        if not self.line.startswith(literal, self.place):
            found = self.line[self.place : self.place + max(16, len(literal))]
            raise Damaged(f"{_quoted(literal)} is due {where}, not {_quoted(found)}")
        self.place += len(literal)

    def _value(self, index: int, step: Step) -> Any:
        kind = step.type
        after = self.layout.after(index)
        if kind in (Type.TEXT, Type.FLAGS, Type.MODE, Type.SAME_TEXT):
            text = self._text(step, after, index == len(self.layout.steps) - 1)
            if kind is Type.SAME_TEXT and text != self.values[step.column or ""]:
                raise Damaged(f"{step.name}: {text!r} in SHOW is another than in the record")
            return text
        if kind is Type.TIME:
            return self._time(step, after)
        if kind is Type.REAL:
            return self._real(step, after)
        if kind in (Type.COUNTED_PATH, Type.COUNTED_TEXT, Type.SHOW_LENGTH):
            return self._counted(step)
        if kind is Type.FULL_PATH:
            return self._full_path(after)
        if kind in (Type.HEX_UNSIGNED, Type.HEX_WHOLE):
            found = self._match(_HEX_NUMBER, step, after, "hexadecimal number")
            return _fitting(int(found[0], 16), step, unsigned=kind is Type.HEX_UNSIGNED)
        found = self._match(_NUMBER, step, after, "whole number")
        if len(found[0]) > 40:
            raise Damaged(f"{step.name}: {_quoted(found[0])} does not fit 64 bits")
        number = int(found[0])
        if found[0].startswith(b"-") and kind is not Type.SIGNED:
            raise Damaged(f"{step.name}: {_quoted(found[0])} is negative")
        if kind is Type.KIBIBYTES:
            number *= 1024
        return _fitting(number, step, unsigned=kind is Type.UNSIGNED)

    def _match(
        self, form: re.Pattern[bytes], step: Step, after: bytes, what: str
    ) -> re.Match[bytes]:
        """Match a value by its pattern; the bytes ``after`` must follow immediately."""
        found = form.match(self.line, self.place)
        if found is None or not self.line.startswith(after, found.end()):
            end = self.line.find(after, self.place) if after else len(self.line)
            if end < 0:
                raise Damaged(f"{_quoted(after)} is missing after {step.name}")
            text = self.line[self.place : end]
            said = f"{step.name}: {_quoted(text)} is not a {what}"
            raise Damaged(said if text else f"{step.name} is missing")
        self.place = found.end()
        return found

    def _text(self, step: Step, after: bytes, last: bool) -> str | None:
        if last and self.layout.record:
            end = len(self.line) - len(after)
            if end < self.place or not self.line.endswith(after):
                end = -1
        else:
            end = self.line.find(after, self.place)
        if end < 0:
            raise Damaged(f"{_quoted(after)} is missing after {step.name}")
        raw = self.line[self.place : end]
        self.place = end
        text, kind = text_value(raw, step, self.escape)
        if kind is not None:
            self.kinds[step.type] = kind
        return text or None

    def _time(self, step: Step, after: bytes) -> datetime:
        found = self._match(
            _TIME[self.layout.escaping.show], step, after, "time such as 2026-01-31 12:00:00"
        )
        *parts, fraction = found.groups()
        year, month, day, hour, minute, second = map(int, parts)
        try:
            moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        except ValueError as error:
            raise Damaged(f"{step.name}: {_quoted(found[0])}: {error}") from None
        return moment + timedelta(microseconds=int((fraction or b"").ljust(6, b"0")))

    def _real(self, step: Step, after: bytes) -> float | None:
        if self.line.startswith(after, self.place):
            return None
        sign, digits, power_sign, power = self._match(
            _REAL[self.layout.escaping.show], step, after, "number such as 1.5E-003"
        ).groups()
        value = float(
            digits + (b"e" + (b"-" if power_sign == b"-" else b"") + power if power else b"")
        )
        if value == float("inf"):
            raise Damaged(f"{step.name}: {_quoted(digits)} is too large")
        return -value if sign == b"-" else value

    def _counted(self, step: Step) -> str | None:
        found = _COUNT.match(self.line, self.place)
        if found is None:
            text = self.line[self.place : self.place + 16]
            raise Damaged(f"{step.name}: {_quoted(text)} does not begin with a length and '!'")
        end = found.end() + int(found[1])
        if end > len(self.line):
            missing = end - len(self.line)
            raise Damaged(f"{step.name}: {missing} of {int(found[1])} bytes are missing")
        self.place = found.end()
        signed = b"\\" if found[0].startswith(b"-") else b""
        if step.type is Type.SHOW_LENGTH:
            self.escape = self.escape or signed
            if end != len(self.line):
                raise Damaged(
                    f"SHOW has {len(self.line) - found.end()} bytes where its length says "
                    f"{int(found[1])}"
                )
            return None
        raw, self.place = self.line[self.place : end], end
        if step.type is Type.COUNTED_PATH:
            self.relative = unescape(raw, "path", self.layout.path_escape or signed)
            return None
        return text_value(raw, step, signed)[0] or None

    def _full_path(self, after: bytes) -> None:
        """Read the path in SHOW, up to the last occurrence of the bytes after it."""
        end = self.line.rfind(after, self.place) if after else len(self.line)
        if end < 0:
            raise Damaged(f"{_quoted(after)} is missing after the path")
        escape = self.layout.path_escape or self.escape
        path = unescape(self.line[self.place : end], "path", escape)
        relative = self.relative or b""
        if path != relative and not path.endswith(b"/" + relative if relative else b""):
            raise Damaged(
                f"path: {_quoted(path)} in SHOW does not end with the record's {_quoted(relative)}"
            )
        self.path, self.place = path, end


def text_value(raw: bytes, step: Step, escape: bytes) -> tuple[str, str | None]:
    """Decode a value of text; also return the file kind if the value states one.

    escape: as for ``unescape``.
    Raises Damaged if the value is not UTF-8, or does not match the format of its type.
    """
    found = unescape(raw, step.name, escape)
    try:
        text = found.decode("utf-8")
    except UnicodeDecodeError:
        raise Damaged(f"{step.name}: {_quoted(found)} is not UTF-8 text") from None
    if text and step.type is Type.MODE:
        if not _MODE.fullmatch(text):
            raise Damaged(f"{step.name}: {text!r} is not a mode such as -rw-r--r--")
        return text, _KIND_OF_MODE.get(text[0], "other")
    if text and step.type is Type.FLAGS:
        if not _FLAGS.fullmatch(text):
            raise Damaged(f"{step.name}: {text!r} is not a row of flags such as FA")
        kinds = [_KIND_OF_FLAG[letter] for letter in text if letter in _KIND_OF_FLAG]
        if len(kinds) > 1:
            raise Damaged(f"{step.name}: {text!r} means more than one kind of file")
        return text, kinds[0] if kinds else None
    return text, None


def unescape(raw: bytes, name: str, escape: bytes) -> bytes:
    """Decode an escaped text to bytes.

    escape: the byte that starts an escape. After ``%``, two hexadecimal digits give a byte. After a
        backslash, ``n`` is a newline and a backslash itself. If empty, nothing is escaped.
    Raises Damaged for any other use of the percent sign or backslash, and for a NUL.
    """

    def byte(found: re.Match[bytes]) -> bytes:
        if found[1] is None:
            text = _quoted(raw[found.start() : found.start() + 3])
            raise Damaged(f"{name}: {text} is not an escape")
        if escape == b"%":
            return bytes((int(found[1], 16),))
        return b"\n" if found[1] == b"n" else b"\\"

    found = _ESCAPES[escape].sub(byte, raw) if escape else raw
    if b"\0" in found:
        raise Damaged(f"{name} holds a NUL byte, which no name can")
    return found


def shown(path: bytes) -> tuple[str, bytes | None]:
    """Decode a path to text; also return its exact bytes if the text differs from them."""
    try:
        return path.decode("utf-8"), None
    except UnicodeDecodeError:
        return path.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace"), path


def _fitting(number: int, step: Step, *, unsigned: bool) -> int:
    if abs(number) >= 2 ** (64 if unsigned else 63):
        raise Damaged(f"{step.name}: {number} does not fit {64 if unsigned else 63} bits")
    return number


def _quoted(raw: bytes) -> str:
    text = raw[:60].decode("utf-8", "backslashreplace")
    return repr(text) + ("..." if len(raw) > 60 else "")

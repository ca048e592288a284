"""Parse SQL conditions in which a text that is compared with a time is a time, as in DuckDB.

polars compares no time with a text, and its versions differ in the syntax of times.  So times and
intervals are rewritten to a syntax that all versions read.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import attrs
import polars as pl

from harvest import UsageError
from harvest.toolkit.frames import condition
from harvest.toolkit.texts import printable_line

_TEXT: Final = r"'(?:[^']|'')*'"
_TYPE: Final = r"(?:timestamptz|timestamp|datetime|date)(?:\s+with\s+time\s+zone)?"
_CAST: Final = rf"{_TEXT}\s*::\s*%s\b|cast\s*\(\s*{_TEXT}\s+as\s+%s\s*\)"
_TOKEN: Final = re.compile(
    rf"(?P<interval>interval(?:\s*'\s*[\d.]+\s*'|\s+[\d.]+)\s*\w*|interval\s*{_TEXT}"
    rf"|{_CAST % ('interval', 'interval')})"
    rf"|(?P<moment>{_TYPE}\s*{_TEXT}|{_CAST % (_TYPE, _TYPE)})"
    r"|(?P<now>(?:now|today)\s*\(\s*\)|current_(?:timestamp|date)\b(?:\s*\(\s*\))?)"
    rf"|(?P<text>{_TEXT})|(?P<quoted>\"(?:[^\"]|\"\")*\")|(?P<word>[^\W\d]\w*)"
    r"|(?P<number>\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+)|(?P<mark>::|<=|>=|<>|!=|==|[^\s\w])",
    re.IGNORECASE,
)
_COMPARISONS: Final = frozenset(("=", "==", "<>", "!=", "<", "<=", ">", ">=", "between", "in"))
_BORDERS: Final = frozenset(("and", "or", "not", "when", "then", "else", "case", "end", "where"))
_TIME_WORDS: Final = frozenset(("timestamp", "timestamptz", "datetime", "date"))
_SAME_KIND: Final = frozenset(("date", "coalesce", "min", "max", "least", "greatest"))
"""Functions that return a time for a time."""
_FORMAT: Final = "%Y-%m-%dT%H:%M:%S%.f"
_AMOUNT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)")
_CLOCK: Final = re.compile(r"(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?$")
_SECONDS: Final = {
    **dict.fromkeys(("microsecond", "us"), 1e-6),
    **dict.fromkeys(("millisecond", "ms"), 1e-3),
    **dict.fromkeys(("second", "sec", "s"), 1),
    **dict.fromkeys(("minute", "min", "m"), 60),
    **dict.fromkeys(("hour", "hr", "h"), 3600),
}
_DAYS: Final = {"day": 1, "d": 1, "week": 7, "w": 7}
_MONTHS: Final = {"month": 1, "mon": 1, "quarter": 3, "year": 12, "yr": 12, "y": 12}


def condition_of(sql: str, frame: pl.LazyFrame) -> pl.Expr:
    """Parse an SQL condition over the columns of a frame; times may be written as texts."""
    try:
        return condition(_Times(sql, frame.collect_schema()).rewritten(), frame)
    except UsageError as error:
        remedy = error.remedy
        raise UsageError(in_a_sentence(error.message), where=sql, remedy=remedy) from error


@attrs.define
class _Token:
    """A token of SQL; moment, interval: its value when it is one of these.

    interval: months, days, seconds.  gap: the blanks before the token.
    """

    kind: str
    text: str
    gap: str = " "
    moment: datetime | None = None
    interval: tuple[int, int, float] | None = None

    @property
    def word(self) -> str:
        return self.text.lower() if self.kind in ("word", "mark") else ""

    @property
    def value(self) -> str:
        return self.text[1:-1].replace("''", "'")


class _Times:
    """The tokens of a condition, in which times and intervals are found."""

    def __init__(self, sql: str, schema: Mapping[str, pl.DataType]):
        self.sql = sql
        self.schema = schema
        self.now = datetime.now(UTC)
        self.tokens: list[_Token] = []
        end = 0
        for found in _TOKEN.finditer(sql):
            token = self._typed(_Token(str(found.lastgroup), found.group()))
            self.tokens.append(attrs.evolve(token, gap=sql[end : found.start()]))
            end = found.end()

    def rewritten(self) -> str:
        """Return the condition in the syntax of polars."""
        for place, token in enumerate(self.tokens):
            if token.kind in ("text", "number") or token.interval is not None:
                self._compared(place, token)
        return "".join(token.gap + _spelled(token) for token in self.tokens)

    def _typed(self, token: _Token) -> _Token:
        """Parse a token that is a time or an interval by its own syntax."""
        text = token.text.lower()
        if token.kind == "now":
            if token.text.partition("(")[0].strip() in self.schema:
                return _Token("word", token.text)
            now = self.now
            if text.startswith(("today", "current_date")):
                now = now.replace(hour=0, minute=0, second=0, microsecond=0)
            return _Token("moment", token.text, moment=now)
        if token.kind == "interval" and text.startswith("interval"):
            return self._interval(token.text[len("interval") :].replace("'", ""))
        if token.kind not in ("moment", "interval"):
            return token
        (written,) = re.findall(_TEXT, token.text)
        value = _Token("text", written).value
        return self._moment(value) if token.kind == "moment" else self._interval(value)

    def _moment(self, text: str) -> _Token:
        """Parse a time, in UTC when it has no zone."""
        written, zone = text.strip(), UTC
        try:
            if found := re.fullmatch(r"(.*?\d)\s+([A-Za-z]\w*(?:/[\w+-]+)*)", written):
                written, zone = found[1], ZoneInfo(found[2])  # type: ignore[assignment]
            if not re.match(r"\d{4}-\d\d-\d\d", written):
                raise ValueError(written)
            read = datetime.fromisoformat(written)
            moment = (read if read.tzinfo else read.replace(tzinfo=zone)).astimezone(UTC)
        # a KeyError is an unknown zone; the other is a time outside the years 1 to 9999 in UTC
        except (ValueError, OSError, KeyError, OverflowError):
            raise self._no_time(text) from None
        return _Token("moment", text, moment=moment)

    def _no_time(self, text: str) -> UsageError:
        return UsageError(
            f"{text!r} is not a time",
            where=self.sql,
            remedy="write '2025-01-31', '2025-01-31 12:00', '2025-01-31T12:00+01:00', "
            "'2025-01-31 12:00 Europe/Berlin' or now() - interval '7 days'",
        )

    def _interval(self, text: str) -> _Token:
        """Parse an interval into months, days and seconds; months have 28 to 31 days."""
        months = days = 0
        seconds = 0.0
        plain = text.strip().lower()
        if clock := _CLOCK.search(plain):
            seconds = int(clock[1]) * 3600 + int(clock[2]) * 60 + float(clock[3] or 0)
            plain = plain[: clock.start()]
        left = _AMOUNT.sub("", plain).replace(",", "").replace("and", "").strip()
        for amount, written in _AMOUNT.findall(plain):
            unit = written if written in _SECONDS or len(written) < 3 else written.rstrip("s")
            seconds += float(amount) * _SECONDS.get(unit, 0)
            some = float(amount) * _DAYS.get(unit, 0)
            days += int(some)
            seconds += (some - int(some)) * 86400
            some = float(amount) * _MONTHS.get(unit, 0)
            months += int(some)
            if some != int(some) or unit not in _SECONDS | _DAYS | _MONTHS:
                left = text
        if left or not (plain or clock):
            remedy = "write interval '7 days', '1 year 2 months' or '01:30:00'"
            raise UsageError(f"{text.strip()!r} is not an interval", where=self.sql, remedy=remedy)
        return _Token("interval", text, interval=(months, days, seconds))

    def _compared(self, place: int, token: _Token) -> None:
        """Convert a token that is compared with a time or a span of time."""
        side = self._operand(place, -1) or self._operand(place, 1)
        kind = self._kind(side) if side else None
        if token.interval is not None:
            if kind == "seconds":
                months, days, seconds = token.interval
                if months:
                    problem = f"interval {token.text!r} is not a number of seconds: months differ"
                    raise UsageError(problem, where=self.sql, remedy="write it in days")
                number = f"{days * 86400 + seconds:.15g}"
                self.tokens[place] = _Token("number", number, token.gap)
        elif kind in ("time", "span") and token.kind == "text":
            made = self._moment(token.value) if kind == "time" else self._interval(token.value)
            self.tokens[place] = attrs.evolve(made, gap=token.gap)
        elif kind == "time" and self._alone(place):
            raise self._no_time(token.text)  # polars would take it for microseconds

    def _alone(self, place: int) -> bool:
        around = [t.word for t in (*self.tokens[place - 1 : place], *self.tokens[place + 1 :][:1])]
        return not {"+", "-", "*", "/"}.intersection(around)

    def _operand(self, place: int, step: int) -> list[_Token]:
        """Return the operand behind a comparison in one direction; none in a call."""
        outer, inner = ("(", ")") if step < 0 else (")", "(")
        found: list[_Token] = []
        compared, depth = False, 0
        for at in range(place + step, -1 if step < 0 else len(self.tokens), step):
            word = self.tokens[at].word
            before = self.tokens[at - 1].word if at else ""
            if word == outer and depth == 0:
                if compared:
                    break
                if step < 0 and before and before not in _BORDERS | _COMPARISONS | {"("}:
                    return []  # an argument
                continue
            if depth == 0 and word in _COMPARISONS:
                if compared:
                    break
                compared = True
                continue
            if depth == 0 and word in _BORDERS:
                if compared and word == "not" and step < 0:  # t not in (...)
                    continue
                if compared or not (word == "and" and step < 0 and self._within_between(at)):
                    break
                continue
            depth += (word == inner) - (word == outer)
            if compared:
                found.append(self.tokens[at])
        return found[::step] if compared else []

    def _within_between(self, place: int) -> bool:
        """Whether this AND belongs to a BETWEEN."""
        for token in reversed(self.tokens[:place]):
            if token.word == "between":
                return True
            if token.word in _BORDERS:
                return False
        return False

    def _kind(self, operand: Sequence[_Token]) -> str | None:
        """Return the type of an operand: ``time``, ``span`` of time, ``seconds`` or None."""
        times = minus = 0
        last = ""
        for number, token in enumerate(operand):
            name = token.value if token.kind == "quoted" else token.text
            kind: Any = self.schema.get(name) if token.kind in ("quoted", "word") else None
            if token.moment is not None or (kind is not None and kind.is_temporal()):
                times += 1
                minus += last == "-"
            elif kind is not None:
                seconds = name.endswith("_s") and kind.is_numeric()
                return "seconds" if seconds and len(operand) == 1 else None
            elif _gives_another_kind(operand[number : number + 2]):
                return None
            if token.word not in ("(", ")"):
                last = token.word
        if not times:
            return None
        return "span" if minus % 2 else "time"


def _gives_another_kind(tokens: Sequence[_Token]) -> bool:
    """Whether two tokens call a function or cast to a type whose result is not a time."""
    first, second = (token.word for token in (*tokens, _Token("mark", ""))[:2])
    if first == "::":
        return second not in _TIME_WORDS
    return second == "(" and first.isidentifier() and first not in _SAME_KIND


def _spelled(token: _Token) -> str:
    if token.moment is not None:
        return f"strptime('{token.moment:%Y-%m-%dT%H:%M:%S.%f%z}', '{_FORMAT}%z')"
    if token.interval is not None:
        months, days, seconds = token.interval
        return f"interval '{months} months {days} days {round(seconds * 1e6)} microseconds'"
    return token.text


_SIDE: Final = r"series '(.+?)' of dtype: (.+?)"
_SENTENCES: Final = (
    (r"unable to parse .*", "a part of it is missing or misplaced"),
    (r"unsupported function '(.+?)'", r"there is no function \1 here (harvest query has more)"),
    (r"cannot compare string with numeric type.*", "a text is compared with a number"),
    (r"cannot compare 'date/datetime/time' to a string.*", "a time is compared with a text"),
    (r"'is_in' cannot check .*", "what is listed behind IN is of another type than the column"),
    (
        rf"could not evaluate .* comparison between {_SIDE} and {_SIDE}",
        r"\1 is of type \2, and is compared with what is of type \4",
    ),
    (
        r"(?:expected String type, got: |invalid series dtype: expected `String`, got )"
        r"`?(.+?)`?(?: for .*)?",
        r"it asks for a text, where there is \1",
    ),
    (r"arithmetic on dtypes (.+?) and (.+?) is not allowed.*", r"it calculates with \1 and \2"),
    (r".*subplan.*", "it has a query within (harvest query takes one)"),
    (r"unable to find column \"(.+?)\".*", r"there is no column \1"),
)
_CASTS: Final = re.compile(r"::|\bcast\b", re.IGNORECASE)
_WRONG: Final = re.compile(
    r"conversion from `\w+` to `(.+?)` failed in column '(.+?)' for .*? values: \[\"?(.*?)\"?[,\]]"
)


def in_a_sentence(message: str) -> str:
    """Replace polars' words in a message of ``harvest.toolkit.frames.condition`` by a sentence."""
    head, colon, said = message.partition(": ")
    if not colon:
        return message
    for pattern, sentence in _SENTENCES:
        if re.fullmatch(pattern, said):
            return f"{head}: {re.sub(pattern, sentence, said)}"
    return message


@contextlib.contextmanager
def refused_values(sql: str | None) -> Iterator[None]:
    """Raise UsageError when a condition casts values that cannot be cast.

    sql: the condition, if there is one.
    """
    try:
        yield
    except pl.exceptions.PolarsError as error:
        found = _WRONG.match(str(error))
        if sql is None or found is None or not _CASTS.search(sql):
            raise
        kind, column, value = found.groups()
        # a file's statistics (name_min), and columns that a view has renamed, are not in the text
        column = column if column in sql else "..."
        problem = f"{column} has values that are no {kind}, such as {printable_line(value)!r}"
        remedy = f"TRY_CAST({column} AS ...) gives null for these"
        raise UsageError(problem, where=sql, remedy=remedy) from error

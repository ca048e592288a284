"""A reader of policy rules and of input file lists, by IBM's documentation alone.

IBM Storage Scale 5.2: "Policy rules: Syntax", "Policy rules: Terms", "File attributes in SQL
expressions", "Using macro processing utilities with policy rules" (m4 with the quotes ``[ ]`` and
the comments ``/* */`` goes first), and "mmapplypolicy command", ``-i InputFileList``.  It knows
nothing of the code that writes them; what it does not know is an error.
"""

import re
from datetime import UTC, datetime
from typing import Any

ATTRIBUTES = """
ACCESS_TIME CHANGE_TIME CREATION_TIME FILE_SIZE FILESET_NAME GENERATION GROUP_ID INODE
KB_ALLOCATED MISC_ATTRIBUTES MODE MODIFICATION_TIME NAME NLINK PATH_NAME POOL_NAME SNAP_ID USER_ID
"""
FUNCTIONS = {"VARCHAR", "TIMESTAMP", "DAYS", "LOWER", "LENGTH"}
M4_WORDS = """
builtin changecom changequote changeword debugfile debugmode decr define defn divert
divnum dnl dumpdef errprint esyscmd eval format ifdef ifelse include incr index indir
len m4exit m4wrap maketemp mkstemp patsubst popdef pushdef regexp shift sinclude substr
syscmd sysval traceoff traceon translit undefine undivert
"""
TOKEN = re.compile(
    r"\s+|(?P<comment>/\*.*?\*/)|(?P<text>'(?:[^']|'')*')|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<mark>\|\||<>|<=|>=|[=<>(),+*-])",
    re.DOTALL,
)


def after_m4(source: str) -> str:
    """What m4 makes of a file without macros: one level of quotes goes; its words are refused."""
    out: list[str] = []
    depth = at = 0
    while at < len(source):
        if depth == 0 and source.startswith("/*", at):
            end = source.index("*/", at) + 2
            out.append(source[at:end])
            at = end
            continue
        char = source[at]
        if char == "[":
            depth += 1
            out.append(char if depth > 1 else "")
        elif char == "]":
            assert depth, f"an unbalanced ] at {at}"
            depth -= 1
            out.append(char if depth else "")
        elif depth == 0 and (word := re.compile(r"[A-Za-z_]\w*").match(source, at)):
            assert word[0] not in M4_WORDS.split(), f"m4 takes {word[0]} for its own"
            out.append(word[0])
            at = word.end()
            continue
        else:
            out.append(char)
        at += 1
    assert depth == 0, "an unbalanced ["
    return "".join(out)


def tokens(source: str) -> list[tuple[str, str]]:
    found, at = [], 0
    while at < len(source):
        match = TOKEN.match(source, at)
        assert match, f"no word of the language: {source[at : at + 40]!r}"
        if match.lastgroup not in (None, "comment"):
            found.append((match.lastgroup, match[0]))
        at = match.end()
    return found


class Rules:
    """A policy file, rule by rule: what kind each is, its list or pool, its clauses."""

    def __init__(self, source: str) -> None:
        self.rest = tokens(after_m4(source))
        self.at = 0
        self.rules: list[dict[str, Any]] = []
        while self.at < len(self.rest):
            self.rules.append(self.rule())

    def peek(self) -> str:
        if self.at >= len(self.rest):
            return ""
        kind, text = self.rest[self.at]
        return text.upper() if kind == "word" else text

    def take(self, *wanted: str) -> str:
        found = self.peek()
        assert not wanted or found in wanted, f"{found!r} where {wanted} is expected"
        self.at += 1
        return found

    def may(self, word: str) -> bool:
        if self.peek() != word:
            return False
        self.at += 1
        return True

    def text(self) -> str:
        kind, text = self.rest[self.at]
        assert kind == "text", f"{text!r} where a text is expected"
        self.at += 1
        return text[1:-1].replace("''", "'")

    def rule(self) -> dict[str, Any]:
        self.take("RULE")
        found: dict[str, Any] = {"name": None}
        if self.rest[self.at][0] == "text":
            found["name"] = self.text()
        if self.may("EXTERNAL"):
            found["kind"] = f"EXTERNAL {self.take('LIST')}"
            found["of"] = self.text()
            self.take("EXEC")
            found["exec"] = self.text()
            if self.may("ESCAPE"):
                assert self.text().startswith("%"), "ESCAPE is '%' and what it leaves alone"
            return found
        found["kind"] = self.take("LIST")
        found["of"] = self.text()
        for flag in ("EXCLUDE", "DIRECTORIES_PLUS"):
            found[flag.lower()] = self.may(flag)
        for clause in ("WEIGHT", "SHOW"):
            if self.may(clause):
                self.parenthesised()
        if self.may("WHERE"):
            found["where"] = self.either()
        return found

    def parenthesised(self) -> Any:
        self.take("(")
        found = self.either()
        self.take(")")
        return found

    def either(self) -> Any:
        found = self.both()
        while self.may("OR"):
            found = ("OR", found, self.both())
        return found

    def both(self) -> Any:
        found = self.negated()
        while self.may("AND"):
            found = ("AND", found, self.negated())
        return found

    def negated(self) -> Any:
        return ("NOT", self.negated()) if self.may("NOT") else self.compared()

    def compared(self) -> Any:
        left = self.joined()
        if self.peek() in ("=", "<>", "<", ">", "<=", ">="):
            return (self.take(), left, self.joined())
        if self.may("LIKE"):
            pattern = self.text()
            escape = self.text() if self.may("ESCAPE") else None
            assert escape is None or len(escape) == 1
            return ("LIKE", left, pattern, escape)
        return left

    def joined(self) -> Any:
        found = self.value()
        while self.may("||"):
            found = ("||", found, self.value())
        return found

    def value(self) -> Any:
        kind, text = self.rest[self.at]
        if kind == "text":
            return self.text()
        if kind == "number":
            self.at += 1
            return int(text)
        if text == "(":
            return self.parenthesised()
        word = self.take()
        if self.peek() == "(":
            assert word in FUNCTIONS, f"no function {word}"
            return (word, self.parenthesised())
        assert word in ATTRIBUTES.split(), f"no attribute {word}"
        return ("attribute", word)


def value_of(node: Any, row: dict[str, Any]) -> Any:
    """An expression for a file whose attributes are given by name."""
    if not isinstance(node, tuple):
        return node
    kind, *parts = node
    if kind == "attribute":
        return row[parts[0]]
    if kind == "LIKE":
        left, pattern, escape = parts
        return re.fullmatch(like(pattern, escape), value_of(left, row), re.DOTALL) is not None
    values = [value_of(part, row) for part in parts]
    if kind == "NOT":
        return not values[0]
    if kind == "TIMESTAMP":
        return datetime.strptime(values[0], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    if kind == "VARCHAR":
        return str(values[0])
    left, right = values
    return {
        "OR": lambda: left or right, "AND": lambda: left and right, "=": lambda: left == right,
        "<>": lambda: left != right, "<": lambda: left < right, ">": lambda: left > right,
        "<=": lambda: left <= right, ">=": lambda: left >= right, "||": lambda: left + right,
    }[kind]()  # fmt: skip


def like(pattern: str, escape: str | None) -> str:
    out, chars = "", iter(pattern)
    for char in chars:
        if char == escape:
            out += re.escape(next(chars))
        else:
            out += {"%": ".*", "_": "."}.get(char) or re.escape(char)
    return out


def listed(rules: list[dict[str, Any]], row: dict[str, Any]) -> bool:
    """Whether the first LIST rule that applies to a file puts it into the list."""
    for rule in rules:
        if rule["kind"] == "LIST" and value_of(rule["where"], row):
            return not rule["exclude"]
    return False


RECORD = re.compile(rb"([0-9a-fA-F]+):([0-9a-fA-F]+):(\d+)!")


def records(data: bytes) -> list[tuple[int, int, bytes]]:
    """Inode, generation and path of each record of a list of the expert format."""
    found, at, ends = [], 0, set()
    while at < len(data):
        head = RECORD.match(data, at)
        assert head, f"no record at {at}: {data[at : at + 40]!r}"
        end = head.end() + int(head[3])
        ends.add(data[end : end + 1])
        path = data[head.end() : end]
        assert path.startswith(b"/"), path
        assert b"\0" not in path
        found.append((int(head[1], 16), int(head[2], 16), path))
        at = end + 1
    assert ends in (set(), {b"\n"}, {b"\0"}), f"records end in {ends}"
    if b"\n" in ends:
        assert not any(b"\n" in path for *_, path in found)
    return found


def plain_paths(data: bytes) -> list[bytes]:
    """The paths of a list of the simple format."""
    assert not data or data.endswith(b"\n")
    marks = {rb"\\": b"\\", rb"\n": b"\n"}
    lines = data.split(b"\n")[:-1]
    assert all(re.fullmatch(rb"(?:[^\\]|\\[\\n])+", line) for line in lines)
    return [re.sub(rb"\\[\\n]", lambda m: marks[m[0]], line) for line in lines]

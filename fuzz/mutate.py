"""Changes to an input that keep its form: of lines, of cells, of values in a JSON document.

The fuzzer's own changes work on bytes; after them a CSV is mostly a broken CSV.  These reach the
code behind the first check.
"""

import json
from random import Random
from typing import Any

__all__ = ["NASTY", "change_json", "change_lines"]

NASTY = (
    "", " ", "0", "-1", "1e400", "-1e-400", "nan", "inf", "None", "null", "NaT", "true", "Unknown",
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616",
    "1" * 40, "0x7f", "1_000", "１２", "²", "1713553304.3746524", "253402300800", "-62135596801",
    "1970-01-01T00:00:00", "9999-12-31T23:59:59.999999+00:00", "0001-01-01T00:00:00+23:59",
    "2024-02-30 10:00:00", "2023-11-05T01:30:00", "2024-03-10T02:30:00", "365-00:00:00",
    "99999999-99:99:99", "16?", "4000Mc", "9" * 18 + "T", "a\\b", "a\tb", "\x00", "\x1b[2J",
    "\u202e", "\ud7ff\uffff", "=1+1", "../../x", "/etc/passwd", "%s%n", "{}", "set()", "{'a': 1}",
    "('x', 1)", "(" * 30 + ")" * 30, "'" , '"', '"a,b"', '"a\nb"', "a|b", "a,b", "\r", "é" * 50,
)  # fmt: skip
"""Values that parsers trip over."""


def change_lines(data: bytes, random: Random, mark: bytes = b",") -> bytes:
    """Change some lines: repeat, drop, swap, cut or join them, or change one cell."""
    lines = data.split(b"\n")
    for _ in range(random.randint(1, 3)):
        place = random.randrange(len(lines))
        kind = random.randrange(8)
        if kind == 0:
            lines.insert(place, lines[random.randrange(len(lines))])
        elif kind == 1 and len(lines) > 1:
            del lines[place]
        elif kind == 2:
            other = random.randrange(len(lines))
            lines[place], lines[other] = lines[other], lines[place]
        elif kind == 3:
            lines[place] = lines[place][: random.randint(0, len(lines[place]))]
        elif kind == 4:
            lines[place] += random.choice([b"\r", b" ", b"\\", b'"', mark, b"\xff", b"\x00"])
        else:
            lines[place] = _change_cell(lines[place], random, mark)
    return b"\n".join(lines)


def _change_cell(line: bytes, random: Random, mark: bytes) -> bytes:
    cells = line.split(mark)
    place = random.randrange(len(cells))
    kind = random.randrange(5)
    if kind == 0:
        cells.insert(place, b"")
    elif kind == 1:
        del cells[place]
    elif kind == 2:
        cells[place] = b'"' + cells[place].replace(b'"', b'""') + b'"'
    else:
        cells[place] = random.choice(NASTY).encode()
    return mark.join(cells)


def change_json(data: bytes, random: Random) -> bytes:
    """Change one value somewhere in a JSON document; other data are changed as lines."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return change_lines(data, random, b":")
    places: list[tuple[Any, Any]] = []
    _places(document, places)
    if not places:
        return json.dumps(_value(random)).encode()
    holder, key = random.choice(places)
    kind = random.randrange(5)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[random.choice(NASTY)] = holder.pop(key)
    elif kind == 2:
        source, name = random.choice(places)
        held = source[name] if _reaches(source, name) else None
        holder[key] = json.loads(json.dumps(held))
    else:
        holder[key] = _value(random)
    return json.dumps(document, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")


def _reaches(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def _places(value: Any, found: list[tuple[Any, Any]]) -> None:
    if not isinstance(value, (dict, list)):
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        found.append((value, key))
        _places(item, found)


def _value(random: Random) -> Any:
    return random.choice(
        [
            None, True, False, 0, -1, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 2**64, 10**30, 0.5,
            1e300, 10**12, -(10**12), float("inf"), float("nan"), [], {}, [[]], [None], {"": None},
            "\ud800", "\x00", [{"a": []}], *NASTY,
        ]
    )  # fmt: skip

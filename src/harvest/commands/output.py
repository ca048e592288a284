"""Print JSON."""

import re
import sys
from typing import Any

import orjson

_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def print_json_line(value: Any) -> None:
    """Print one JSON document on one line, for continuing output; UTC times end with ``Z``."""
    data = orjson.dumps(value, default=as_text, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)
    sys.stdout.write(harmless(data) + "\n")


def harmless(json: bytes) -> str:
    """Escape characters in JSON that control a terminal or reorder text."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.decode())


def as_text(value: Any) -> str:
    """Convert a value that JSON cannot represent to text."""
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)

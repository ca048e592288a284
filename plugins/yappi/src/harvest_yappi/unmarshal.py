"""Read a pstat file in a separate program, since marshal can crash on damaged or hostile bytes.

    python unmarshal.py FILE OUTPUT MEMORY_BYTES SECONDS

The program limits its memory and CPU time, reads FILE and checks the type of each value. It writes
one JSON array per line to OUTPUT: ``["function", [name, module, line], a, b, own, total]``,
``["call", caller's [name, module, line], callee's, a, b, own, total]`` or
``["bad", text, reason]``. a and b are the two numbers of calls. It imports nothing of harvest, to
start fast. If FILE is not a pstat, it exits with status 3 and a line on stderr.
"""

import json
import marshal
import resource
import sys
from collections.abc import Iterator
from typing import Any


def main(path: str, output: str, memory: int, seconds: int) -> None:
    """Read a pstat file and write its rows to ``output``; limits in bytes and CPU seconds."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(path, "rb") as file:  # noqa: PTH123
        data = file.read()
    try:
        # safe for files of others, too: no code that marshal loads is run
        stats = marshal.loads(data)  # noqa: S302
    except (ValueError, EOFError, TypeError) as error:
        fail(f"not a pstat file: {error}")
    if not isinstance(stats, dict):
        fail(f"not a pstat file: it holds a {type(stats).__name__}, not a dict")
    with open(output, "w", encoding="ascii") as file:  # noqa: PTH123
        for row in rows(stats):
            file.write(json.dumps(row) + "\n")


def fail(reason: str) -> Any:
    """Print a reason and exit with status 3."""
    print(reason, file=sys.stderr)
    raise SystemExit(3)


def rows(stats: dict[Any, Any]) -> Iterator[list[Any]]:
    """Yield the functions and calls of a profile, or a ``bad`` row for each invalid one."""
    for key, value in stats.items():
        function = place(key)
        if function is None:
            yield ["bad", short(key), "not a file, a line and a name"]
            continue
        numbers = costs(value[:4]) if isinstance(value, tuple) and len(value) == 5 else None
        if numbers is None or not isinstance(value[4], dict):
            yield ["bad", short((key, value)), "not two counts, two times and the callers"]
            continue
        yield ["function", function, *numbers]
        for caller, edge in value[4].items():
            origin = place(caller)
            # before Python 2.5 a caller had only a count
            spent = costs(edge) if isinstance(edge, tuple) else costs((edge, edge, None, None))
            if origin is None or spent is None:
                yield ["bad", short((caller, edge)), f"not a caller of {function[0]}"]
            else:
                yield ["call", origin, function, *spent]


def place(key: Any) -> list[Any] | None:
    """Return name, file and line of a function's key; None if the key is invalid."""
    match key:
        case (str(module), line, str(name)) if count(line):
            return [plain(name), plain(module), line]
    return None


def costs(values: Any) -> list[Any] | None:
    """Return two counts and two times as a list; None if a value is invalid."""
    if len(values) != 4 or not (count(values[0]) and count(values[1])):
        return None
    for time in values[2:]:
        if not (time is None or isinstance(time, float) or count(time)):
            return None
    return list(values)


def count(value: Any) -> bool:
    """Whether a value is an integer that fits into 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def plain(text: str) -> str:
    """Escape surrogates, so that the text can be encoded."""
    return text.encode("utf-8", "backslashreplace").decode()


def short(value: Any) -> str:
    """Format a value for a message, in at most 2,000 characters."""
    try:
        return plain(repr(value)[:2000])
    except (ValueError, RecursionError) as error:  # thousands of digits, or deep nesting
        return f"a {type(value).__name__} that cannot be shown: {error}"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))

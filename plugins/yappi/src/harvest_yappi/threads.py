"""Parse printed thread tables.

No file that Yappi saves contains threads; ``get_thread_stats().print_all(out=file)`` prints them.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from .kinds import LONGEST
from .records import Thread

_HEADER: Final = re.compile(r"name +id +(tid +)?ttot +scnt")
_NUMBERS: Final = re.compile(r"(-?\d{1,18}) (?:(\d{1,18}) )?(\d{1,18}\.\d{1,18}) (\d{1,18})")


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
        if header := _HEADER.fullmatch(text):
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

"""Where CSV places quotes.

A field with quotes begins with one and ends with one, and each quote inside of it is doubled.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

QUOTE: Final = ord('"')
LINE_END: Final = ord("\n")


def first_misplaced(data: Any, mark: int) -> int:
    """Place of the first quote that stands where CSV places none; -1 where there is none.

    data: bytes from the begin of a record on.  mark: the delimiter.  A quote that is never closed
    is not misplaced.
    """
    quotes = np.flatnonzero(data == QUOTE)
    opening, closing = quotes[0::2], quotes[1::2]
    before = data[np.maximum(opening - 1, 0)]
    begins = (opening == 0) | (before == mark) | (before == LINE_END)
    last = len(data) - 1
    after, second = data[np.minimum(closing + 1, last)], data[np.minimum(closing + 2, last)]
    ends = (closing == last) | (after == mark) | (after == LINE_END)
    ends |= (after == ord("\r")) & ((second == LINE_END) | (closing + 1 == last))
    doubled = closing[: len(opening) - 1] + 1 == opening[1:]
    begins[1:] |= doubled
    ends[: len(doubled)] |= doubled
    wrong = np.append(opening[~begins], closing[~ends])
    return int(wrong.min()) if len(wrong) else -1


def line_ends(data: Any) -> tuple[Any, Any]:
    """Places of the line ends outside of quotes, and of those within."""
    ends = np.flatnonzero(data == LINE_END)
    quotes = np.flatnonzero(data == QUOTE)
    within = np.searchsorted(quotes, ends) % 2 == 1
    return ends[~within], ends[within]


def after_record(data: Any) -> int:
    """The place behind the last line end outside of quotes; 0 where there is none."""
    outside, _ = line_ends(data)
    return int(outside[-1]) + 1 if len(outside) else 0

"""Labels of an axis of dates."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from .extra import need

if TYPE_CHECKING:
    from matplotlib.ticker import Formatter


def date_formatter() -> Formatter:
    """Dates whose first label, and each at which a year or a day begins anew, says which.

    matplotlib's own says the year of the last alone, which at the end of a year is another.
    """
    dates = need("matplotlib.dates", "drawing a plot")
    ticker = need("matplotlib.ticker", "drawing a plot")

    class Dates(ticker.Formatter):  # type: ignore[misc, name-defined]
        def __call__(self, value: float, position: int | None = None) -> str:
            return f"{dates.num2date(value):%Y-%m-%d %H:%M:%S}"

        def format_ticks(self, values: Sequence[float]) -> list[str]:
            return dates_in_words([dates.num2date(value) for value in values])

    made: Formatter = Dates()
    return made


def dates_in_words(moments: Sequence[datetime]) -> list[str]:
    """A label for each tick: as fine as the ticks lie apart, with the day and the year below it
    at the first and wherever another begins.
    """
    gaps = [(b - a).total_seconds() for a, b in itertools.pairwise(moments)]
    gap = min(gaps, default=0.0)
    labels = []
    before: datetime | None = None
    for moment in moments:
        new_year = before is None or before.year != moment.year
        new_day = before is None or before.date() != moment.date()
        day = f"{moment.day} {moment:%b}"
        if gap >= 360 * 86400:
            text = f"{moment.year}"
        elif gap >= 0.9 * 86400:
            month = moment.day == 1 and gap >= 27 * 86400
            text = f"{moment:%b}" if month else day
            text += f"\n{moment.year}" if new_year else ""
        else:
            text = f"{moment:%H:%M:%S}" if gap < 60 else f"{moment:%H:%M}"
            text += f"\n{day}" if new_day else ""
            text += f"\n{moment.year}" if new_year else ""
        if 0 < gap < 1:
            text = text.replace(f"{moment:%H:%M:%S}", f"{moment:%H:%M:%S}.{moment:%f}"[:-3], 1)
        labels.append(text)
        before = moment
    return labels

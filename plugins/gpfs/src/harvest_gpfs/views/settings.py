"""How views of scans are declared, and settings that several of them and reports have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

from harvest import Column, Setting, View
from harvest.toolkit.settings import at_least, some_of

from ..measures import DEFAULT, DIRECTORY, GROUPINGS, METRICS

REQUIRES: Final = ("gpfs.file",)
WORDS: TypeAlias = tuple[str, ...]
WITHIN: Final = tuple(name for name in GROUPINGS if name != DIRECTORY)
"""Groupings in which each object is in one group."""


def view(
    name: str,
    module: str,
    doc: str,
    settings: Mapping[str, Setting],
    *columns: Column,
    first: tuple[str, ...] = (),
) -> View:
    """A view of scans, with the columns of its rows; the module has a function of its last name."""
    build = f"harvest_gpfs.{module}:{name.rpartition('.')[2]}"
    return View(
        name=name,
        doc=doc,
        build=build,
        requires=REQUIRES,
        settings=settings,
        columns=columns,
        first=first,
    )


def by(*default: str, words: tuple[str, ...] = WITHIN) -> Setting:
    """The setting ``by``: some of these groupings."""
    return Setting("what objects are grouped by", WORDS, default, some_of(words))


def count(doc: str, default: int, least: int = 1) -> Setting:
    """A setting that is a whole number."""
    return Setting(doc, int, default, at_least(least))


_BELOW_ROOT: Final = "how many directories below the root make a top-level directory"
SCAN: Final = Setting(
    "latest, all, a time or the beginning of one, or the path of a list", str, "latest"
)
NOW: Final = Setting(
    "what ages are counted from: 2026-01-11; the time of the scan unless given", str
)
ROOT: Final = Setting(
    "where top-level directories begin; the longest directory that all paths lie in unless given",
    str,
)
DEEPER: Final = count(_BELOW_ROOT, 2)
PASSWD: Final = Setting("passwd file with users' names, as `getent passwd` prints it", Path)
_GROUP: Final = Setting("group file with groups' names, as `getent group` prints it", Path)
PLACE: Final = {"root": ROOT, "top_depth": count(_BELOW_ROOT, 1)}
PEOPLE: Final = {"passwd": PASSWD, "group": _GROUP}
GROUPED: Final = {**PLACE, **PEOPLE}
TIMED: Final = {"scan": SCAN, "now": NOW}
MEASURES: Final = Setting("what is summed", WORDS, DEFAULT, some_of(METRICS))
N: Final = count("how many", 50)
COLD: Final = Setting("how long neither accessed nor modified is cold: 90d, 1y", str, "1y")
SMALL: Final = Setting("what is small: below so much", str, "64K")
POLICY: Final = Setting("days of policies to try, comma list that rises", str, "90,180,365")
FROM: Final = Setting(
    "the earlier scan, as a time or its beginning; the earliest unless given", str
)
TO: Final = Setting("the later scan; the latest unless given", str)
OVER: Final = Setting(
    "instead of from: 30d for the scan nearest to 30 days before the later one", str
)

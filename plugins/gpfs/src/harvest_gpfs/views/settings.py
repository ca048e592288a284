"""Declarations of views of scans, and settings that several views and reports use."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

from harvest import Column, Setting, View
from harvest.toolkit.settings import some_of, within

from ..measures import DEFAULT, DIRECTORY, GROUPINGS, METRICS

REQUIRES: Final = ("gpfs.file",)
WORDS: TypeAlias = tuple[str, ...]
WITHIN: Final = tuple(name for name in GROUPINGS if name != DIRECTORY)
"""Groupings that put each object into one group."""


def view(
    name: str,
    module: str,
    doc: str,
    settings: Mapping[str, Setting],
    *columns: Column,
    first: tuple[str, ...] = (),
) -> View:
    """Declare a view of scans; the function in ``module`` has the last part of the view's name."""
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
    """Declare the setting ``by``: one or more of these groupings."""
    return Setting("groupings, as a comma list", WORDS, default, some_of(words))


def count(doc: str, default: int, least: int = 1) -> Setting:
    """Declare a setting with an integer value."""
    return Setting(doc, int, default, within(least, 4 * 10**9))  # as for --rows


_BELOW_ROOT: Final = "depth of top-level directories below the root"
SCAN: Final = Setting("latest, all, a time or its beginning, or the path of a list", str, "latest")
NOW: Final = Setting("time that ages count from: 2026-01-11; default: time of the scan", str)
ROOT: Final = Setting("directory above top-level directories; default: deepest of all paths", str)
DEEPER: Final = count(_BELOW_ROOT, 2)
PASSWD: Final = Setting("passwd file with users' names, as `getent passwd` prints it", Path)
_GROUP: Final = Setting("group file with groups' names, as `getent group` prints it", Path)
PLACE: Final = {"root": ROOT, "top_depth": count(_BELOW_ROOT, 1)}
PEOPLE: Final = {"passwd": PASSWD, "group": _GROUP}
GROUPED: Final = {**PLACE, **PEOPLE}
TIMED: Final = {"scan": SCAN, "now": NOW}
MEASURES: Final = Setting("metrics, as a comma list", WORDS, DEFAULT, some_of(METRICS))
N: Final = count("number of rows", 50)
COLD: Final = Setting("time without access and modification of cold data: 90d, 1y", str, "1y")
SMALL: Final = Setting("size below which a file is small", str, "64K")
POLICY: Final = Setting("days of the policies to try, in rising order", str, "90,180,365")
FROM: Final = Setting("the earlier scan, as a time or its beginning; default: the earliest", str)
TO: Final = Setting("the later scan; default: the latest", str)
OVER: Final = Setting("instead of from: 30d takes the scan nearest to 30 days earlier", str)

"""What this distribution adds to harvest: the source, views, report and commands of GPFS lists."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from harvest import Command, ReportSpec, Rule, Setting, SourceSpec, View, hookimpl
from harvest.toolkit.settings import at_least, one_of, some_of

from .rules import RULES

harvest_api = 1

_WORDS = tuple[str, ...]
_GROUPINGS = (
    *("uid", "gid", "user", "group", "top", "fileset", "pool", "kind", "extension", "size_bin"),
    *("access_age", "modify_age", "cold", "future", "small"),
)
_METRICS = (
    *("paths", "inodes", "files", "directories", "symlinks", "others", "unknown_kind"),
    *("hard_links", "size_bytes", "allocated_bytes", "unknown_size", "unknown_allocated"),
    *("with_heat", "warm", "warm_bytes", "heat_units", "hottest", "oldest_access_time"),
    *("newest_access_time", "oldest_modify_time", "newest_modify_time"),
)


def _by(*default: str, words: tuple[str, ...] = _GROUPINGS) -> Setting:
    return Setting("what objects are grouped by", _WORDS, default, some_of(words))


def _number(doc: str, default: int, least: int = 1) -> Setting:
    return Setting(doc, int, default, at_least(least))


_SCAN = Setting("latest, all, a time or the beginning of one, or the path of a list", str, "latest")
_NOW = Setting("what ages are counted from: 2026-01-11; the time of the scan unless given", str)
_ROOT = Setting(
    "where top-level directories begin; the longest directory that all paths lie in unless given",
    str,
)
_TOP = _number("how many directories below the root make a top-level directory", 1)
_DEEPER = _number("how many directories below the root make a top-level directory", 2)
_USERS = Setting("passwd file with users' names, as `getent passwd` prints it", Path)
_GROUPS = Setting("group file with groups' names, as `getent group` prints it", Path)
_PLACE = {"root": _ROOT, "top_depth": _TOP}
_PEOPLE = {"passwd": _USERS, "group": _GROUPS}
_MEASURES = Setting(
    "what is summed",
    _WORDS,
    ("inodes", "files", "directories", "hard_links", "size_bytes", "allocated_bytes"),
    some_of(_METRICS),
)
_N = _number("how many", 50)
_ROWS = _number("rows of the longer tables", 20)
_COLD = Setting("how long neither accessed nor modified is cold: 90d, 1y", str, "1y")
_SMALL = Setting("what is small: below so much", str, "64K")
_POLICY = Setting("days of policies to try, comma list that rises", str, "90,180,365")
_FROM = Setting("the earlier scan, as a time or its beginning; the earliest unless given", str)
_TO = Setting("the later scan; the latest unless given", str)
_OVER = Setting("instead of from: 30d for the scan nearest to 30 days before the later one", str)

_NEEDS = ("gpfs.file",)
_HERE = "harvest_gpfs."
_COLUMNS = _HERE + "views.columns."

VIEWS: Final = (
    View(
        name="gpfs.usage",
        doc="Bytes, objects and hard links by owner, directory, fileset or pool, largest first.",
        build=_HERE + "views.usage:usage",
        requires=_NEEDS,
        columns=_COLUMNS + "space:USAGE",
        settings={
            "by": _by("uid"),
            "metrics": _MEASURES,
            "scan": _SCAN,
            **_PLACE,
            "now": _NOW,
            **_PEOPLE,
        },
    ),
    View(
        name="gpfs.directories",
        doc="Each directory down to a depth with all that lies below it, as du counts.",
        build=_HERE + "views.usage:directories",
        requires=_NEEDS,
        columns=_COLUMNS + "space:DIRECTORY_TREE",
        settings={
            "depth": _number("how many directories below the root", 2, 0),
            "metrics": _MEASURES,
            "scan": _SCAN,
            "root": _ROOT,
        },
    ),
    View(
        name="gpfs.growth",
        doc="Sums of every scan, the newest first, and what changed since the one before.",
        build=_HERE + "views.usage:growth",
        requires=_NEEDS,
        columns=_COLUMNS + "space:GROWTH",
        settings={
            "by": _by(words=(*_GROUPINGS, "directory")),
            **_PLACE,
            **_PEOPLE,
        },
    ),
    View(
        name="gpfs.churn",
        doc="What was created, deleted, modified, accessed, renamed and moved between two scans.",
        build=_HERE + "views.churn:churn",
        requires=_NEEDS,
        columns=_COLUMNS + "changes:CHURN",
        settings={
            "old": Setting("the earlier scan; the one before the other unless given", str),
            "new": _TO,
            **_PLACE,
        },
    ),
    View(
        name="gpfs.change",
        doc="Who and what grew between two scans, and by what was new, deleted, modified and "
        "moved; the most grown first.",
        build=_HERE + "views.change:change",
        requires=_NEEDS,
        columns=_COLUMNS + "changes:CHANGE",
        settings={
            "by": _by("user", words=("user", "group", "fileset", "pool", "top")),
            "from": _FROM,
            "to": _TO,
            "over": _OVER,
            "root": _ROOT,
            "top_depth": _DEEPER,
            **_PEOPLE,
        },
    ),
    View(
        name="gpfs.owners",
        doc="A row per owner: what it has, and how much of that is cold, small or of the future.",
        build=_HERE + "views.owners:owners",
        requires=_NEEDS,
        columns=_COLUMNS + "space:OWNERS",
        settings={
            "cold": _COLD,
            "below": _SMALL,
            "scan": _SCAN,
            "now": _NOW,
            "passwd": _USERS,
            "to": Setting("the same as scan, by the word of gpfs.change", str),
        },
    ),
    View(
        name="gpfs.policy",
        doc="What a policy of so many days would free, by time of access, of modification, both; "
        "of each the groups of most bytes first.",
        build=_HERE + "views.policy:policy",
        requires=_NEEDS,
        columns=_COLUMNS + "ages:POLICY",
        settings={
            "policy": _POLICY,
            "by": _by(),
            "scan": _SCAN,
            "now": _NOW,
            **_PLACE,
            **_PEOPLE,
        },
    ),
    View(
        name="gpfs.ages",
        doc="How long ago objects were accessed and modified, in classes.",
        build=_HERE + "views.classes:ages",
        requires=_NEEDS,
        columns=_COLUMNS + "ages:AGES",
        settings={
            "ages": Setting("upper ends of the classes", str, "7d,30d,90d,180d,1y,2y,5y"),
            "scan": _SCAN,
            "now": _NOW,
        },
    ),
    View(
        name="gpfs.sizes",
        doc="How many objects are how large, in classes.",
        build=_HERE + "views.classes:sizes",
        requires=_NEEDS,
        columns=_COLUMNS + "ages:SIZES",
        settings={
            "sizes": Setting("upper ends of the classes", str, "4K,64K,1M,16M,256M,4G,64G,1T"),
            "scan": _SCAN,
        },
    ),
    View(
        name="gpfs.cold",
        doc="What was neither accessed nor modified for so long, by groups.",
        build=_HERE + "views.classes:cold",
        requires=_NEEDS,
        columns=_COLUMNS + "ages:COLD",
        settings={
            "by": _by("top"),
            "age": Setting("how long: 90d, 1y", str, "1y"),
            "scan": _SCAN,
            "now": _NOW,
            **_PLACE,
            **_PEOPLE,
        },
    ),
    View(
        name="gpfs.heat",
        doc="How warm the files of each pool are, as the policy engine reports it; most warm bytes "
        "first.",
        build=_HERE + "views.classes:heat",
        requires=_NEEDS,
        columns=_COLUMNS + "space:HEAT",
        settings={"by": _by("pool"), "scan": _SCAN},
    ),
    View(
        name="gpfs.extensions",
        doc="Objects and bytes by the suffix of their names.",
        build=_HERE + "views.classes:extensions",
        requires=_NEEDS,
        columns=_COLUMNS + "space:EXTENSIONS",
        settings={"scan": _SCAN},
    ),
    View(
        name="gpfs.small",
        doc="How many objects are small, and what they take, by groups.",
        build=_HERE + "views.classes:small",
        requires=_NEEDS,
        columns=_COLUMNS + "space:SMALL",
        settings={
            "by": _by("top"),
            "below": _SMALL,
            "scan": _SCAN,
            **_PLACE,
            **_PEOPLE,
        },
    ),
    View(
        name="gpfs.largest",
        doc="The objects of most bytes.",
        build=_HERE + "views.files:largest",
        requires=_NEEDS,
        columns=_COLUMNS + "paths:LARGEST",
        settings={"n": _N, "scan": _SCAN, "passwd": _USERS},
    ),
    View(
        name="gpfs.oldest",
        doc="The objects that were modified, or accessed, longest ago.",
        build=_HERE + "views.files:oldest",
        requires=_NEEDS,
        columns=_COLUMNS + "paths:OLDEST",
        settings={
            "n": _N,
            "by": Setting(
                "which time", str, "modify", one_of(("access", "modify", "change", "create"))
            ),
            "scan": _SCAN,
            "passwd": _USERS,
        },
    ),
    View(
        name="gpfs.duplicates",
        doc="Files of one name and size in several directories: copies, perhaps.",
        build=_HERE + "views.suspects:duplicates",
        requires=_NEEDS,
        columns=_COLUMNS + "paths:DUPLICATES",
        settings={
            "above": Setting("bytes that a file has at least", str, "64M"),
            "n": _N,
            "scan": _SCAN,
        },
    ),
    View(
        name="gpfs.crowded",
        doc="Directories of very many entries, the most first.",
        build=_HERE + "views.suspects:crowded",
        requires=_NEEDS,
        columns=_COLUMNS + "paths:CROWDED",
        settings={"least": _number("entries at least", 10_000), "scan": _SCAN},
    ),
    View(
        name="gpfs.odd_names",
        doc="Paths that scripts stumble over, and why.",
        build=_HERE + "views.files:odd_names",
        requires=_NEEDS,
        columns=_COLUMNS + "paths:ODD_NAMES",
        settings={"scan": _SCAN, "kinds": Setting("only these oddities", _WORDS)},
    ),
    View(
        name="gpfs.scan_quality",
        doc="What a list does not say, and what in it cannot be right.",
        build=_HERE + "views.quality:scan_quality",
        requires=_NEEDS,
        columns=_COLUMNS + "paths:SCAN_QUALITY",
        settings={"scan": _SCAN, "now": _NOW},
    ),
)

REPORTS: Final = (
    ReportSpec(
        name="gpfs.summary",
        doc="A file system at a glance: who uses it, where, how old, how large, how it grows.",
        build=_HERE + "report.summary:summary",
        requires=_NEEDS,
        settings={
            "scan": _SCAN,
            "now": _NOW,
            **_PLACE,
            "depth": _number("how deep the directory tree is shown", 2, 0),
            "cold": _COLD,
            "n": _ROWS,
            **_PEOPLE,
        },
    ),
    ReportSpec(
        name="gpfs.change",
        doc="Who grew between two scans, what came, went and moved, what is cold, and what a "
        "policy would free.",
        build=_HERE + "report.change:change",
        requires=_NEEDS,
        settings={
            "from": _FROM,
            "to": _TO,
            "over": _OVER,
            "cold": _COLD,
            "policy": _POLICY,
            "root": _ROOT,
            "top_depth": _DEEPER,
            "n": _ROWS,
            **_PEOPLE,
        },
    ),
)


@hookimpl
def harvest_sources() -> Iterable[SourceSpec]:
    """The source ``gpfs``."""
    return [
        SourceSpec(
            name="gpfs",
            doc="GPFS (IBM Storage Scale) policy lists, plain, .gz or .zst",
            factory="harvest_gpfs.source:GpfsSource",
        )
    ]


@hookimpl
def harvest_views() -> Iterable[View]:
    """Views of one scan, and of how scans differ."""
    return VIEWS


@hookimpl
def harvest_reports() -> Iterable[ReportSpec]:
    """The reports ``gpfs.summary`` and ``gpfs.change``."""
    return REPORTS


@hookimpl
def harvest_rules() -> Iterable[Rule]:
    """What can be wrong with a scan, or worth a look."""
    return RULES


@hookimpl
def harvest_commands() -> Iterable[Command]:
    """The commands ``harvest gpfs ...``."""
    return [
        Command(
            name="gpfs",
            doc="GPFS policy lists: split, convert, aggregate, churn, status.",
            app="harvest_gpfs.commands:app",
        )
    ]

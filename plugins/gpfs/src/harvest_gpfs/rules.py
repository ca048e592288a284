"""Rules on scans: high space usage, incomplete totals, and sharp growth.

Most use ``gpfs.owners``, which has a row per owner. Shares exclude directories and objects without
the recorded value, as in the tables of the reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from harvest import Finding, Rule, Threshold
from harvest.toolkit.amounts import BINARY_UNITS, bytes_in_words, count_in_words, share_in_words
from harvest.toolkit.layout import shorten

if TYPE_CHECKING:
    import polars as pl


_BOTH: Final = ("gpfs.summary", "gpfs.change")
_rule = partial(Rule, reports=("gpfs.summary",))
_of_owners = partial(_rule, view="gpfs.owners")


def _owner(row: dict[str, Any]) -> str:
    return "An unrecorded owner" if row["user"] is None else f"User {row['user']}"


def _in_one_unit(*sizes: float) -> tuple[str, ...]:
    """Format sizes in the smallest size's unit, and add it: ``("611", "2,136", "GiB")``."""
    unit = bytes_in_words(min(filter(None, sizes), default=0)).split()[1]
    values = [size / 1024 ** BINARY_UNITS.index(unit) for size in sizes]
    return (*(f"{x:,.0f}" if x >= 99.95 or x == int(x) else f"{x:.3g}" for x in values), unit)


def _sum(rows: pl.DataFrame, column: str) -> int:
    return sum(rows[column].drop_nulls().to_list())


def _most(rows: pl.DataFrame, column: str) -> dict[str, Any]:
    """Return the row with the largest value of a column, the first one if tied."""
    ordered = rows.sort(column, descending=True, nulls_last=True, maintain_order=True)
    return ordered.row(0, named=True)


def _part(rows: pl.DataFrame, known: str) -> tuple[str, ...]:
    """Return the certainty "part" if only some objects have the values that the rule needs."""
    judged, everything = rows[f"all_{known}"][0], rows["all_data_inodes"][0]
    return ("part",) if judged is not None and judged < (everything or 0) else ()


def cold(rows: pl.DataFrame, total: int, *, share: float, high: float) -> Iterator[Finding]:
    """Report cold data in one finding, with the owner who has the most."""
    cold, everything = _sum(rows, "cold_size_bytes"), rows["all_cold_known_bytes"][0]
    if not everything or cold < share * everything:
        return
    worst, sizes = _most(rows, "cold_size_bytes"), _in_one_unit(cold, everything)
    yield Finding(
        "high" if cold >= high * everything else "medium",
        f"{share_in_words(cold / everything)} of all data unused for {worst['cold_days']:,} days: "
        f"{bytes_in_words(cold)}",
        f"{sizes[0]} of {sizes[1]} {sizes[2]} were neither accessed nor modified. "
        f"{_owner(worst)} has the most: {bytes_in_words(worst['cold_size_bytes'])}, "
        f"{share_in_words(worst['cold_share'])} of their data.",
        certainty=_part(rows, "cold_known_inodes"),
    )


def errors_said(rows: pl.DataFrame, total: int) -> Iterator[Finding]:
    """Report lists with errors of the policy engine in one finding."""
    first = rows["note"][0].partition("the policy engine said: ")[2]
    lists = count_in_words(rows["origin"].n_unique(), "list")
    yield Finding(
        "high",
        f"Policy engine errors in {lists}: files may be missing",
        f"The first error is: {first}.",
        certainty=("lower_bound",),
    )


def small(rows: pl.DataFrame, total: int, *, share: float, files: float) -> Iterator[Finding]:
    """Report small files in one finding, with their logical and allocated size."""
    count, everything = _sum(rows, "small_inodes"), rows["all_small_known_inodes"][0]
    if count < files or count < share * everything:
        return
    worst, size = _most(rows, "small_inodes"), _sum(rows, "small_size_bytes")
    held = f"hold {bytes_in_words(size)}"
    if rows["small_allocated_bytes"].count():
        both = _in_one_unit(size, _sum(rows, "small_allocated_bytes"))
        held = "hold {} and occupy {} {}".format(*both)
    yield Finding(
        "medium",
        f"{share_in_words(count / everything)} of all files are below "
        f"{bytes_in_words(worst['small_below'])}: {count:,} files",
        f"{count:,} of {everything:,} files {held}. {_owner(worst)} has the most: "
        f"{worst['small_inodes']:,}.",
        certainty=_part(rows, "small_known_inodes"),
    )


def one_owner(rows: pl.DataFrame, total: int, *, share: float) -> Iterator[Finding]:
    """Report each owner with a large share of the data, if there are other owners."""
    for row in rows.iter_rows(named=True) if total > 1 else ():
        size = held = ""
        if row["all_bytes"] is not None:  # a sum that an int64 holds
            size = f": {bytes_in_words(row['size_bytes'])}"
            held = " with {} of {} {}".format(*_in_one_unit(row["size_bytes"], row["all_bytes"]))
        yield Finding(
            "low",
            f"{shorten(_owner(row), 32, 'id')} owns {share_in_words(row['share'])} of all data"
            f"{size}",
            f"{_owner(row)} owns {count_in_words(row['inodes'], 'object')}{held}.",
            where={"uid": row["uid"]},
        )


def unknown_owners(rows: pl.DataFrame, total: int, *, share: float) -> Iterator[Finding]:
    """Report all owners without a name in one finding, with the largest of them."""
    size, worst = _sum(rows, "size_bytes"), _most(rows, "size_bytes")
    everything, objects = worst["all_bytes"], count_in_words(_sum(rows, "inodes"), "object")
    held, most = "", "The list has no sizes."
    if worst["size_bytes"] is not None:
        held = f": {bytes_in_words(size)}"
        most = f"Uid {worst['uid']} has the most: {bytes_in_words(worst['size_bytes'])}."
        objects += f", {share_in_words(size / everything)} of all data" if everything else ""
    verb, their = ("is", "It owns") if rows.height == 1 else ("are", "They own")
    yield Finding(
        "medium" if everything and size >= share * everything else "low",
        f"{rows.height:,} of {count_in_words(total, 'owner')} {verb} not in the passwd file{held}",
        f"{their} {objects}. {most}",
    )


def future(rows: pl.DataFrame, total: int) -> Iterator[Finding]:
    """Report times after the scan in one finding."""
    count, worst = _sum(rows, "future_inodes"), _most(rows, "future_inodes")
    everything = count_in_words(rows["all_future_known_inodes"][0], "object")
    yield Finding(
        "low",
        f"{count:,} of {everything} {'has' if count == 1 else 'have'} a time after the scan",
        "Access or modification is more than a day after the scan, so age policies skip them. "
        f"{_owner(worst)} has the most: {worst['future_inodes']:,}.",
        certainty=_part(rows, "future_known_inodes"),
    )


def duplicates(rows: pl.DataFrame, total: int, *, extra: float, share: float) -> Iterator[Finding]:
    """Report file names with several copies in one finding, with the name of the most bytes."""
    worst = rows.row(0, named=True)
    names = count_in_words(worst["all_names"], "file name")
    yield Finding(
        "medium" if (worst["extra_share"] or 0) >= share else "low",
        f"{bytes_in_words(worst['all_extra_bytes'])} may be copies: {names} in several directories",
        f"This is {share_in_words(worst['extra_share'] or 0)} of all data, by name and size only. "
        f"The largest is {worst['name']}: {worst['copies']:,} files of "
        f"{bytes_in_words(worst['size_bytes'])}.",
    )


def crowded(rows: pl.DataFrame, total: int, *, entries: float) -> Iterator[Finding]:
    """Report directories that are slow to list in one finding."""
    worst = _most(rows, "entries")
    number = count_in_words(rows.height, "directory has", "directories have")
    yield Finding(
        "medium",
        f"Directory {shorten(worst['directory'], 32, 'id')} has {worst['entries']:,} entries",
        f"{number} {entries:,.0f} entries or more. The largest is {worst['directory']}.",
    )


def grew(
    rows: pl.DataFrame, total: int, *, name: str, words: tuple[str, str], **limits: float
) -> Iterator[Finding]:
    """Report groups that grew sharply in one finding, with the largest growth.

    name: column of the groups; words: singular and plural of the group's kind, for messages.
    """
    worst, (one, several) = _most(rows, "growth_bytes"), words
    which = "(not recorded)" if worst[name] is None else worst[name]
    growth, percent = bytes_in_words(worst["growth_bytes"]), worst["growth_percent"]
    share = "new" if percent is None else share_in_words(percent / 100)
    headline = f"{rows.height:,} of {total:,} {several} grew sharply, by up to {growth}"
    if rows.height == 1:
        headline = f"{one.capitalize()} {shorten(which, 27, 'id')} grew by {growth} ({share})"
    size = bytes_in_words(worst["new_bytes"])
    days = f"between {worst['old_scan'][:10]} and {worst['new_scan'][:10]}"
    least, much, unit = _in_one_unit(limits["least"], limits["growth"])
    yield Finding(
        "high" if worst["growth_bytes"] >= limits["growth"] else "medium",
        headline,
        f"{one.capitalize()} {which} grew to {size} ({share}) {days}. {rows.height:,} of "
        f"{count_in_words(total, one, several)} passed the limits: "
        f"{limits['percent']:g} % and {least} {unit}, or {much} {unit}.",
        certainty=("part",) if _sum(rows, "unmeasured") else (),
    )


_SHOW: Final = "the list needs {} in the policy's SHOW clause"
_SIZES: Final = _SHOW.format("FILE_SIZE")
_KINDS: Final = "MISC_ATTRIBUTES (or MODE)"
_TIMES: Final = (
    "the list needs a time (set now=, or harvest with gpfs.scan_time); it also needs ACCESS_TIME, "
    f"MODIFICATION_TIME and {_KINDS} in the policy's SHOW clause"
)
_OWNERS: Final = _SHOW.format("FILE_SIZE and USER_ID")


_GREW: Final = (
    "growth_bytes >= {growth} or (growth_bytes >= {least} and "
    "(state = 'new' or growth_percent >= {percent}))"
)


def _growth(name: str, by: str, what: str, where: str, words: tuple[str, str], **more: Any) -> Rule:
    """Build a rule on groups that grew sharply.

    what: the groups, in the rule's description; words: singular and plural, for messages.
    """
    return Rule(
        name=name,
        view="gpfs.change",
        settings={"by": by},
        where=where,
        columns=(
            *(by, "growth_bytes", "growth_percent", "old_bytes", "new_bytes", "state"),
            *("created_bytes", "deleted_bytes", "grown_bytes", "unmeasured", "old_scan"),
            "new_scan",
        ),
        judge=partial(grew, name=by, words=words),
        reference="limits of this project; the settings from, to and over choose the scans",
        numerator=f"bytes of {what} in the later scan minus those in the earlier scan",
        denominator="bytes in the earlier scan",
        judged=f"{what} in either scan, without directories; only objects whose size both scans "
        "record",
        thresholds={
            "percent": Threshold(50, "growth in percent of the earlier bytes"),
            "least": Threshold(2**30, "bytes of growth (1 GiB) below which percents do not count"),
            "growth": Threshold(2**40, "bytes of growth (1 TiB) that count at any percentage"),
        },
        reports=("gpfs.change",),
        **more,
    )


RULES: Final = (
    _of_owners(
        name="gpfs.cold_data",
        doc="Data that nobody has used for a long time fill space that active data need.",
        where="cold_size_bytes > 0",
        columns=(
            *("uid", "user", "cold_size_bytes", "cold_share", "cold_inodes"),
            *("all_cold_known_bytes", "all_cold_known_inodes", "all_data_inodes", "cold_days"),
        ),
        judge=cold,
        advice="Ask the largest owners, or move the data to a colder pool. gpfs.policy shows what "
        "other age limits would free.",
        reference="the setting cold (a year unless given); access times are as exact as the file "
        "system keeps them (mmchfs -S, relatime)",
        numerator="bytes neither accessed nor modified within the setting cold",
        denominator="bytes with known size, kind and times",
        judged="owners with data of known size, kind and times; without directories",
        unable=f"{_TIMES}; {_SIZES}",
        thresholds={
            "share": Threshold(0.2, "share of all bytes that may be cold"),
            "high": Threshold(0.5, "share of all bytes from which the severity is high"),
        },
        reports=_BOTH,
    ),
    _of_owners(
        name="gpfs.small_files",
        doc="Many small files cost metadata and time, and can occupy more space than they hold.",
        where="small_inodes > 0",
        columns=(
            *("uid", "user", "small_inodes", "small_share", "small_size_bytes"),
            *("small_allocated_bytes", "all_small_known_inodes", "all_data_inodes", "small_below"),
        ),
        judge=small,
        advice="Pack them into archives, a database, or HDF5 or Zarr with larger chunks. "
        "gpfs.small shows which directories have them.",
        reference="IBM Storage Scale 5.2, Block size: a file takes whole subblocks (8 KiB where "
        "blocks have 4 MiB) unless it fits into its inode; the setting below (64 KiB) is the limit",
        numerator="files smaller than the setting below",
        denominator="files of known size",
        judged="owners with files of known size and kind; without directories",
        unable=_SHOW.format(f"FILE_SIZE and {_KINDS}"),
        thresholds={
            "share": Threshold(0.5, "share of all files that may be small"),
            "files": Threshold(100_000, "number of small files that is always allowed"),
        },
    ),
    _of_owners(
        name="gpfs.one_owner",
        doc="An owner of most of a file system decides when it is full.",
        where="case when uid is not null then share > {share} end",
        columns=("uid", "user", "share", "size_bytes", "inodes", "all_bytes"),
        judge=one_owner,
        advice="Talk to this owner first. gpfs.candidates with owner= lists old files.",
        reference="a limit of this project: more than all other owners together",
        numerator="bytes of the owner",
        denominator="bytes of all owners, named or not",
        judged="owners that the list names, with data of known size",
        unable=_OWNERS,
        thresholds={"share": Threshold(0.5, "share of all bytes that one owner may have")},
    ),
    _of_owners(
        name="gpfs.unknown_owners",
        doc="Data of an owner without an account are cleaned up by no one.",
        where="unknown",
        columns=("uid", "size_bytes", "inodes", "share", "all_bytes"),
        judge=unknown_owners,
        advice="Find who takes the data over, by group and directory: gpfs.usage with "
        "by=uid,gid,top shows both.",
        reference="the file given as passwd; the owner left, or belongs to another cluster",
        numerator="owners missing from the passwd file, and their bytes",
        denominator="owners that the list names; bytes of all objects of known size",
        judged="owners that the list names",
        unable=f"set passwd=FILE ({_SHOW.format('USER_ID')})",
        thresholds={
            "share": Threshold(0.01, "share of all bytes from which the severity is medium")
        },
        reports=_BOTH,
    ),
    _of_owners(
        name="gpfs.future_times",
        doc="A time after the scan comes from a wrong clock or from a program. Age policies never "
        "select such objects.",
        where="future_inodes > 0",
        columns=(
            *("uid", "user", "future_inodes", "all_future_known_inodes", "all_data_inodes", "now"),
        ),
        judge=future,
        advice="Correct the times with touch, or exclude the objects from policies. "
        "gpfs.scan_quality counts both kinds of times.",
        reference="the time of the scan plus a day, since a scan takes hours and clocks differ",
        numerator="objects accessed or modified more than a day after the scan",
        denominator="objects with known times",
        judged="owners with data of known kind and times; without directories",
        unable=_TIMES,
    ),
    _rule(
        name="gpfs.duplicates",
        doc="Files of one name and size in several directories may be copies of the same data.",
        view="gpfs.duplicates",
        where="all_extra_bytes >= {extra}",
        columns=(
            *("name", "copies", "size_bytes", "extra_bytes", "first_path", "last_path"),
            *("all_names", "all_extra_bytes", "extra_share"),
        ),
        judge=duplicates,
        advice="Compare the largest by checksum. Share equal files, for example by links.",
        reference="a guess by name and size; files below the setting above (64 MiB) do not count",
        numerator="bytes of all but one of the objects with one name and size",
        denominator="bytes of all objects except directories",
        judged="names that several objects share, each at least as large as the setting above",
        unable=_SIZES,
        thresholds={
            "extra": Threshold(1e10, "bytes of further copies from which the rule reports them"),
            "share": Threshold(0.1, "share of all bytes from which the severity is medium"),
        },
    ),
    _rule(
        name="gpfs.crowded_directories",
        doc="Listing a directory of millions of entries reads all of them, and takes long.",
        view="gpfs.crowded",
        where="entries >= {entries}",
        columns=("directory", "entries", "files", "directories", "size_bytes"),
        judge=crowded,
        advice="Spread the entries over subdirectories, or pack them. Avoid ls -l there.",
        reference="GPFS finds one name among millions by extensible hashing, but a listing reads "
        "every block of the directory (GPFS users' list, 2018-09-11)",
        numerator="paths directly in a directory",
        judged="directories with at least as many entries as the view lists",
        unable="every list has paths, so this is always possible",
        thresholds={"entries": Threshold(1_000_000, "entries of a directory, at least 10,000")},
    ),
    _growth(
        "gpfs.owners_grew",
        "user",
        "users",
        f'case when "user" is not null then {_GREW} end',
        ("user", "users"),
        doc="Users whose data grew sharply between two scans.",
        advice="Ask these users how long this growth continues. gpfs.forecast shows when the space "
        "runs out.",
        unable=f"{_OWNERS} in both scans",
    ),
    _growth(
        "gpfs.directories_grew",
        "top",
        "top-level directories",
        _GREW,
        ("directory", "directories"),
        doc="Top-level directories whose data grew sharply between two scans.",
        advice="See whose data are new there: harvest view gpfs.change DATASET --set by=user,top.",
        unable=f"{_SIZES} in both scans",
    ),
    _rule(
        name="gpfs.errors_reported",
        doc="The policy engine reported an error, so the list may lack files.",
        view="notes",
        among="source = 'gpfs'",
        where="source = 'gpfs' and note like '%the policy engine said: [E%'",
        columns=("origin", "note"),
        judge=errors_said,
        advice="Fix the cause, run the policy again and harvest the new list.",
        reference="messages of mmapplypolicy in IBM Storage Scale's administration guide",
        numerator="errors that the policy engine printed",
        judged="notes about lists, written when they were read",
        unable="every run records these notes, so this is always possible",
    ),
)

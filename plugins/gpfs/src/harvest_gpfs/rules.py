"""Rules on scans: what costs space, what puts sums in doubt, and who grew.

Most look at ``gpfs.owners``, a row per owner; shares are of objects other than directories of which
the list says what decides, as in the tables of the reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from harvest import Finding, Rule, Threshold
from harvest.toolkit.amounts import bytes_in_words, count_in_words, share_in_words

if TYPE_CHECKING:
    import polars as pl


_SUMMARY: Final = ("gpfs.summary",)
_BOTH: Final = ("gpfs.summary", "gpfs.change")


def _owner(row: dict[str, Any]) -> str:
    return "an owner whom the list does not name" if row["user"] is None else f"user {row['user']}"


def _bytes(size: float | None) -> str:
    """A sum in words; a view has none that is more than 2^63 - 1."""
    return "a number of bytes that is not known" if size is None else bytes_in_words(size)


def _sum(rows: pl.DataFrame, column: str) -> int:
    return sum(rows[column].drop_nulls().to_list())


def _most(rows: pl.DataFrame, column: str) -> dict[str, Any]:
    """The row of the largest value; of several the first."""
    ordered = rows.sort(column, descending=True, nulls_last=True, maintain_order=True)
    return ordered.row(0, named=True)


def _part(rows: pl.DataFrame, known: str) -> tuple[str, ...]:
    """Less than certain where only some objects could be judged."""
    judged, everything = rows[f"all_{known}"][0], rows["all_data_inodes"][0]
    return ("part",) if judged is not None and judged < (everything or 0) else ()


def cold(rows: pl.DataFrame, total: int, *, share: float, high: float) -> Iterator[Finding]:
    """On what nobody touched, with the owner of the most."""
    cold, everything = _sum(rows, "cold_size_bytes"), rows["all_cold_known_bytes"][0]
    if not everything or cold < share * everything:
        return
    worst = _most(rows, "cold_size_bytes")
    yield Finding(
        "high" if cold >= high * everything else "medium",
        f"{share_in_words(cold / everything)} of the bytes ({_bytes(cold)} of "
        f"{_bytes(everything)}) are cold; {_owner(worst)} has the most, "
        f"{_bytes(worst['cold_size_bytes'])}, {share_in_words(worst['cold_share'])} of what is "
        "theirs.",
        certainty=_part(rows, "cold_known_inodes"),
    )


def errors_said(rows: pl.DataFrame, total: int) -> Iterator[Finding]:
    """On lists that the policy engine did not finish as it should."""
    first = rows["note"][0].partition("the policy engine said: ")[2]
    lists = count_in_words(rows["origin"].n_unique(), "list")
    said = f"The policy engine reported errors in {lists}, so that files may be missing"
    yield Finding("high", f"{said}; the first is {first}.", certainty=("lower_bound",))


def small(rows: pl.DataFrame, total: int, *, share: float, files: float) -> Iterator[Finding]:
    """One finding on small files, with what they hold and occupy."""
    count, everything = _sum(rows, "small_inodes"), rows["all_small_known_inodes"][0]
    if count < files or count < share * everything:
        return
    worst, occupied = _most(rows, "small_inodes"), ""
    if rows["small_allocated_bytes"].count():
        occupied = f" and occupy {_bytes(_sum(rows, 'small_allocated_bytes'))}"
    yield Finding(
        "medium",
        f"{share_in_words(count / everything)} of the files ({count:,} of {everything:,}) are "
        f"small. They hold {_bytes(_sum(rows, 'small_size_bytes'))}{occupied}; {_owner(worst)} has "
        f"the most, {worst['small_inodes']:,}.",
        certainty=_part(rows, "small_known_inodes"),
    )


def one_owner(rows: pl.DataFrame, total: int, *, share: float) -> Iterator[Finding]:
    """A finding per owner of much, where there are others."""
    for row in rows.iter_rows(named=True) if total > 1 else ():
        name = _owner(row)
        yield Finding(
            "low",
            f"{name[0].upper()}{name[1:]} has {share_in_words(row['share'])} of all bytes: "
            f"{_bytes(row['size_bytes'])} of {_bytes(row['all_bytes'])}, in "
            f"{count_in_words(row['inodes'], 'object')}.",
            {"uid": row["uid"]},
        )


def unknown_owners(rows: pl.DataFrame, total: int, *, share: float) -> Iterator[Finding]:
    """One finding on owners without a name, with the one of most."""
    size, worst = _sum(rows, "size_bytes"), _most(rows, "size_bytes")
    everything = worst["all_bytes"]
    held = ", whose sizes the list does not say"
    if worst["size_bytes"] is not None:
        of_all = f" ({share_in_words(size / everything)} of all bytes)" if everything else ""
        most = f"uid {worst['uid']} has the most, {_bytes(worst['size_bytes'])}"
        held = f" of {_bytes(size)}{of_all}; {most}"
    yield Finding(
        "medium" if everything and size >= share * everything else "low",
        f"{count_in_words(rows.height, 'owner')} of {total:,} "
        f"{'is' if rows.height == 1 else 'are'} not in the passwd file: "
        f"{count_in_words(_sum(rows, 'inodes'), 'object')}{held}.",
    )


def future(rows: pl.DataFrame, total: int) -> Iterator[Finding]:
    """One finding on times that lie after the scan."""
    count, worst = _sum(rows, "future_inodes"), _most(rows, "future_inodes")
    yield Finding(
        "low",
        f"{count_in_words(count, 'object')} of {rows['all_future_known_inodes'][0]:,} "
        f"{'was' if count == 1 else 'were'} accessed or modified over a day after the scan; "
        f"{_owner(worst)} has the most, {worst['future_inodes']:,}. Policies by age never take "
        "them.",
        certainty=_part(rows, "future_known_inodes"),
    )


def duplicates(rows: pl.DataFrame, total: int, *, extra: float, share: float) -> Iterator[Finding]:
    """One finding on all names that several files have, with the one of most bytes."""
    worst = rows.row(0, named=True)
    yield Finding(
        "medium" if (worst["extra_share"] or 0) >= share else "low",
        f"{_bytes(worst['all_extra_bytes'])} ({share_in_words(worst['extra_share'] or 0)} of all "
        f"bytes) may be copies: {count_in_words(worst['all_names'], 'file name')} "
        f"{'occurs' if worst['all_names'] == 1 else 'occur'} with one size in several "
        f"directories; {worst['name']} most, {worst['copies']:,} times "
        f"{_bytes(worst['size_bytes'])}. This is a guess: contents were not compared.",
    )


def crowded(rows: pl.DataFrame, total: int, *, entries: float) -> Iterator[Finding]:
    """One finding on directories that are slow to list."""
    worst = _most(rows, "entries")
    number = count_in_words(rows.height, "directory", "directories")
    yield Finding(
        "medium",
        f"{number} {'has' if rows.height == 1 else 'have'} {entries:,.0f} entries or more; the "
        f"most, {worst['entries']:,}, {worst['directory']}.",
    )


def grew(
    rows: pl.DataFrame, total: int, *, name: str, words: tuple[str, str], **limits: float
) -> Iterator[Finding]:
    """On the groups that grew much, with the one of these that grew most.

    name: the column of the groups; words: what one is called, and several are.
    """
    worst = _most(rows, "growth_bytes")
    which = "what the list does not name" if worst[name] is None else worst[name]
    most = f"of these {which} the most" if rows.height > 1 else which
    percent = worst["growth_percent"]
    share = "new" if percent is None else share_in_words(percent / 100)
    yield Finding(
        "high" if worst["growth_bytes"] >= limits["growth"] else "medium",
        f"{rows.height:,} of {count_in_words(total, *words)} grew from {worst['old_scan'][:10]} to "
        f"{worst['new_scan'][:10]} by {limits['percent']:g} % of what there was, or more (at least "
        f"{_bytes(limits['least'])}), or by {_bytes(limits['growth'])}; {most}, by "
        f"{_bytes(worst['growth_bytes'])} ({share}) to {_bytes(worst['new_bytes'])}.",
        certainty=("part",) if _sum(rows, "unmeasured") else (),
    )


_SIZES: Final = "a list without logical sizes (FILE_SIZE in the SHOW clause of the policy)"
_KINDS: Final = "without kinds (MISC_ATTRIBUTES or MODE)"
_TIMES: Final = (
    "a list without access or modification times (ACCESS_TIME, MODIFICATION_TIME in the SHOW "
    f"clause of the policy), {_KINDS}, or whose time is not known (setting now, gpfs.scan_time)"
)
_OWNERS: Final = "a list without owners (USER_ID in the SHOW clause of the policy)"


_GREW: Final = (
    "growth_bytes >= {growth} or (growth_bytes >= {least} and "
    "(state = 'new' or growth_percent >= {percent}))"
)


def _growth(name: str, by: str, what: str, where: str, words: tuple[str, str], **more: Any) -> Rule:
    """The rule on groups that grew.

    what: the groups in words; words: what one is called, and several are.
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
        reference="limits of this project; the scans are those of from, to and over",
        numerator=f"{what} whose bytes grew by the thresholds: those of the later scan less those "
        "of the earlier one",
        denominator="bytes in the earlier scan",
        judged=f"{what} with objects in either scan, directories left out; of each the objects "
        "whose size both scans say",
        thresholds={
            "percent": Threshold(50, "growth in percent of what there was"),
            "least": Threshold(2**30, "bytes of growth (1 GiB) below which percents do not count"),
            "growth": Threshold(2**40, "bytes of growth (1 TiB) that count whatever the percents"),
        },
        reports=("gpfs.change",),
        **more,
    )


RULES: Final = (
    Rule(
        name="gpfs.cold_data",
        doc="Bytes that nobody read or wrote for long take the place of what is in use.",
        view="gpfs.owners",
        where="cold_size_bytes > 0",
        columns=(
            *("uid", "user", "cold_size_bytes", "cold_share", "cold_inodes"),
            *("all_cold_known_bytes", "all_cold_known_inodes", "all_data_inodes"),
        ),
        judge=cold,
        advice="Ask the owners of the most, or move it to a colder pool; gpfs.policy shows what "
        "a limit of days would free.",
        reference="neither access nor modification within the setting cold (a year); access times "
        "are as exact as the file system keeps them (mmchfs -S, relatime)",
        numerator="bytes neither accessed nor modified within the setting cold",
        denominator="bytes of which it is known whether they are cold",
        judged="owners with data of known size, kind and times; directories are left out",
        unable=f"{_TIMES}; {_SIZES}",
        thresholds={
            "share": Threshold(0.2, "share of all bytes that may be cold"),
            "high": Threshold(0.5, "share of all bytes from which it is a high finding"),
        },
        reports=_BOTH,
    ),
    Rule(
        name="gpfs.small_files",
        doc="Very many small files cost metadata and time, and may occupy more than they hold.",
        view="gpfs.owners",
        where="small_inodes > 0",
        columns=(
            *("uid", "user", "small_inodes", "small_share", "small_size_bytes"),
            *("small_allocated_bytes", "all_small_known_inodes", "all_data_inodes"),
        ),
        judge=small,
        advice="Pack them: archives, HDF5 or Zarr with larger chunks, a database; gpfs.small "
        "shows in which directories they are.",
        reference="IBM Storage Scale 5.2, Block size: a file takes whole subblocks (8 KiB where "
        "blocks have 4 MiB) unless it fits its inode; small is below the setting below (64 KiB)",
        numerator="files smaller than the setting below",
        denominator="files whose size is known",
        judged="owners with files of known size and kind; directories are left out",
        unable=f"{_SIZES}, or {_KINDS}",
        thresholds={
            "share": Threshold(0.5, "share of all files that may be small"),
            "files": Threshold(100_000, "small files that are always allowed"),
        },
        reports=_SUMMARY,
    ),
    Rule(
        name="gpfs.one_owner",
        doc="Who has most of a file system decides when it is full.",
        view="gpfs.owners",
        where="case when uid is not null then share > {share} end",
        columns=("uid", "user", "share", "size_bytes", "inodes", "all_bytes"),
        judge=one_owner,
        advice="Talk to the owner before anybody else; see what of it is cold.",
        reference="a limit of this project: more than all others together",
        numerator="bytes of the owner",
        denominator="bytes of all owners, known by name or not",
        judged="owners whom the list names, with data of known size",
        unable=f"{_SIZES}, or {_OWNERS}",
        thresholds={"share": Threshold(0.5, "share of all bytes that one owner may have")},
        reports=_SUMMARY,
    ),
    Rule(
        name="gpfs.unknown_owners",
        doc="What belongs to nobody is cleaned up by nobody.",
        view="gpfs.owners",
        where="unknown",
        columns=("uid", "size_bytes", "inodes", "share", "all_bytes"),
        judge=unknown_owners,
        advice="Find out who takes it over: by the group, and by the directory it lies in "
        "(gpfs.usage, by=uid,gid,top).",
        reference="the file given as passwd; a user who is in none left, or is of another cluster",
        numerator="owners whom the passwd file lacks, and their bytes",
        denominator="owners whom the list names; bytes of all whose size is known",
        judged="owners whom the list names",
        unable=f"no passwd file (setting passwd), or {_OWNERS}",
        thresholds={
            "share": Threshold(0.01, "share of all bytes from which it is a medium finding")
        },
        reports=_BOTH,
    ),
    Rule(
        name="gpfs.future_times",
        doc="Times after the scan: a wrong clock, or a program that set them. Such objects never "
        "grow old.",
        view="gpfs.owners",
        where="future_inodes > 0",
        columns=(
            *("uid", "user", "future_inodes", "all_future_known_inodes", "all_data_inodes", "now"),
        ),
        judge=future,
        advice="Correct them with touch, or except them in policies; gpfs.scan_quality counts "
        "access and modification apart.",
        reference="the time of the scan and a day, since a scan takes hours and clocks differ",
        numerator="objects accessed or modified more than a day after the scan",
        denominator="objects whose times are known",
        judged="owners with data of known kind and times; directories are left out",
        unable=_TIMES,
        reports=_SUMMARY,
    ),
    Rule(
        name="gpfs.duplicates",
        doc="The same name and size in several directories may be the same data several times.",
        view="gpfs.duplicates",
        where="all_extra_bytes >= {extra}",
        columns=(
            *("name", "copies", "size_bytes", "extra_bytes", "first_path", "last_path"),
            *("all_names", "all_extra_bytes", "extra_share"),
        ),
        judge=duplicates,
        advice="Compare the largest by a checksum; share what is equal, by a common directory or "
        "links.",
        reference="name and size alone: a guess, and files below the setting above (64 MiB) are "
        "left out",
        numerator="bytes of all but one of the objects of one name and size",
        denominator="bytes of all objects but directories",
        judged="names of objects of known size, at least the setting above, that several objects "
        "have",
        unable=_SIZES,
        thresholds={
            "extra": Threshold(1e10, "bytes of further copies from which it is said"),
            "share": Threshold(0.1, "share of all bytes from which it is a medium finding"),
        },
        reports=_SUMMARY,
    ),
    Rule(
        name="gpfs.crowded_directories",
        doc="Whoever lists a directory of millions of entries reads all of them, and waits.",
        view="gpfs.crowded",
        where="entries >= {entries}",
        columns=("directory", "entries", "files", "directories", "size_bytes"),
        judge=crowded,
        advice="Spread them over subdirectories, or pack them; avoid ls -l and patterns there.",
        reference="GPFS finds one name among millions by extensible hashing, but a listing reads "
        "every block of the directory (GPFS users' list, 2018-09-11)",
        numerator="paths that lie directly in a directory",
        judged="directories of at least as many entries as the view lists",
        unable="nothing: each list says paths",
        thresholds={"entries": Threshold(1_000_000, "entries of a directory, at least 10,000")},
        reports=_SUMMARY,
    ),
    _growth(
        "gpfs.owners_grew",
        "user",
        "users",
        f'case when "user" is not null then {_GREW} end',
        ("user", "users"),
        doc="Users whose data grew much between the scans.",
        advice="Ask whether it goes on like that, and until when the space lasts.",
        unable=f"{_SIZES}, or {_OWNERS}, of one of the scans or both",
    ),
    _growth(
        "gpfs.directories_grew",
        "top",
        "top-level directories",
        _GREW,
        ("directory", "directories"),
        doc="Top-level directories whose data grew much between the scans.",
        advice="See what is new in it: harvest view gpfs.change with by=user,top.",
        unable=f"{_SIZES}, of one of the scans or both",
    ),
    Rule(
        name="gpfs.errors_reported",
        doc="Lists in which the policy engine says that it failed: files may be missing.",
        view="notes",
        among="source = 'gpfs'",
        where="source = 'gpfs' and note like '%the policy engine said: [E%'",
        columns=("origin", "note"),
        judge=errors_said,
        advice="Mend the cause, run the policy again and harvest its new list.",
        reference="messages of mmapplypolicy in IBM Storage Scale's administration guide",
        numerator="errors that the policy engine printed",
        judged="notes on lists, made when they were read",
        unable="it is never unable: what the engine said is a note of the run",
        reports=_SUMMARY,
    ),
)

"""The exporter ``gpfs-candidates``: a directory of lists, mails and a policy.

Nothing is deleted, moved or sent. The files are for people and for IBM's ``mmapplypolicy``: a rule
file, and the list of files that it tests. The rules only list: they have no DELETE and no MIGRATE.
They test again everything that may have changed since the scan. They skip a file that was used
since, no longer matches the limits or has a new hard link. Source: IBM Storage Scale 5.2, "Policy
rules: Syntax", "Using macro processing utilities with policy rules" and "mmapplypolicy command",
input file lists.
"""

import re
from collections import Counter
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Final

import attrs
import numpy as np
import polars as pl

from harvest import DatasetReader, UsageError
from harvest.toolkit.amounts import bytes_in_words, count_in_words, share_in_words
from harvest.toolkit.files import new_directory
from harvest.toolkit.texts import printable_line
from harvest_toolkit.frames import possible

from .. import write_result
from .choose import Choice, like, literal, within

_TIMES: Final = {
    "both": "neither accessed nor modified",
    "access": "not accessed",
    "modify": "not modified",
}


def write(
    dataset: DatasetReader,
    target: str,
    *,
    by: str | None = None,
    contact: str | None = None,
    mail_domain: str | None = None,
    **settings: Any,
) -> list[Path]:
    """Write ``candidates.csv``, ``owners.csv``, ``lists``, ``mails`` and the policy; return paths.

    Lists and mails contain an object with several hard links once, at its first path.
    ``candidates.list``, the input of a policy, omits such objects. It has only paths if the scan
    lacks an inode or generation.
    Raises UsageError if the directory exists.
    """
    place = Path(target).expanduser()
    choice = Choice.of(dataset, **settings)
    day = choice.found.scan.label.partition("T")[0]
    rule = f"{_TIMES[choice.time]} since {choice.limit:%Y-%m-%d}"
    lists = str(place.absolute() / "lists")
    letters = Letters(rule, day, lists, by, contact, mail_domain)
    with new_directory(place) as folder:
        objects = choice.listed().collect()
        sums = choice.summed().collect()
        write_result(objects, folder / "candidates.csv")
        write_result(sums, folder / "owners.csv")
        alone = objects.filter(paths=1)
        said = bytes_in_words(alone.select(possible("size_bytes").sum()).item())
        policy = rules(choice, count_in_words(alone.height, "file"), said)
        (folder / "candidates.policy").write_text(policy, encoding="utf-8")
        identified = alone.select("inode", "generation").null_count().sum_horizontal().sum() == 0
        with (folder / "candidates.list").open("wb") as file:
            file.writelines((file_list if identified else path_list)(alone))
        (folder / "lists").mkdir()
        (folder / "mails").mkdir()
        found = objects.partition_by("uid", as_dict=True)
        with_some = sums.filter(pl.col("inodes") > 0)
        for row, name in zip(with_some.iter_rows(named=True), file_names(with_some), strict=True):
            theirs = found[row["uid"],]
            with (folder / "lists" / f"{name}.txt").open("wb") as file:
                file.writelines(path_list(theirs))
            if row["uid"] is not None:
                mail = letters.message(row, f"{name}.txt", theirs)
                (folder / "mails" / f"{name}.eml").write_bytes(mail)
    return sorted(path for path in place.rglob("*") if path.is_file())


_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_DOMAIN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_LARGEST: Final = 15


@attrs.frozen
class Letters:
    """Contents of all messages.

    rule: condition of candidates, in words; day: date of the scan.
    by: the deadline as text; contact: contact for questions.
    domain: mail domain of the owners' addresses; lists: directory of their lists.
    """

    rule: str
    day: str
    lists: str
    by: str | None = None
    contact: str | None = None
    domain: str | None = None

    def __attrs_post_init__(self) -> None:
        if self.domain is not None and not _DOMAIN.fullmatch(self.domain):
            raise UsageError(
                f"{self.domain!r} is not a mail domain", remedy="write mail_domain=example.org"
            )
        for option, text in (("by", self.by), ("contact", self.contact)):
            if text is not None and text != printable_line(text):
                raise UsageError(f"{option} is one line of text, not {text!r}")

    def message(self, row: dict[str, Any], name: str, objects: pl.DataFrame) -> bytes:
        """Compose the message to one owner, in the format of mail programs.

        row: of ``gpfs.candidate_owners``; name: name of the owner's list; objects: candidates.
        """
        files = count_in_words(row["inodes"], "file")
        size = "of unknown size" if row["size_bytes"] is None else bytes_in_words(row["size_bytes"])
        mail = EmailMessage()
        if self.domain is not None and _PLAIN.fullmatch(row["user"]) and not row["user"].isdigit():
            mail["To"] = f"{row['user']}@{self.domain}"
        mail["Subject"] = f"Deletion candidates: {files}, {size}"
        lines = self._lines(row, name, objects, f"{files}, {size}")
        # unencoded mail allows lines of at most 998 bytes
        short = all(len(line.encode()) < 998 for line in lines)
        mail.set_content("\n".join(lines) + "\n", cte="8bit" if short else None)
        return mail.as_bytes()

    def _lines(self, row: dict[str, Any], name: str, objects: pl.DataFrame, has: str) -> list[str]:
        share = f" ({share_in_words(row['share'])} of your bytes)" if row["share"] else ""
        allocated = row["allocated_bytes"]
        space = "" if allocated is None else f" They take {bytes_in_words(allocated)} of storage."
        ask = f"Please look at them by {self.by}" if self.by else "Please look at them"
        lines = [
            f"Dear {printable_line(row['user'])},",
            "",
            f"on {self.day} you had {has}{share}, {self.rule}.{space}",
            f"{ask}, and remove or archive what you no longer need.",
            "Nothing was removed, and this message removes nothing.",
            "",
            f"Full list: {printable_line(f'{self.lists}/{name}')}",
            "",
            "The largest files:" if objects.height > _LARGEST else "The files:",
        ]
        for size, path in objects.head(_LARGEST).select("size_bytes", "path").iter_rows():
            shown = "?" if size is None else bytes_in_words(size)
            lines.append(f"  {shown:>10}  {printable_line(path)}")
        if row["linked_inodes"]:
            linked = count_in_words(row["linked_inodes"], "file")
            lines += [
                "",
                f"{linked} with several hard links, listed once: remove all links to free space.",
            ]
        return [*lines, "", f"Questions: {self.contact}"] if self.contact else lines


def file_names(owners: pl.DataFrame) -> list[str]:
    """Return a file name for each owner: the user's name if it is plain and unique."""
    users = Counter(owners["user"])
    plain = {user for user, count in users.items() if count == 1 and _PLAIN.fullmatch(user or "")}
    others = ["(unknown)" if uid is None else f"(uid-{uid})" for uid in owners["uid"]]
    return [u if u in plain else other for u, other in zip(owners["user"], others, strict=True)]


LIST: Final = "candidates"
_PIECE: Final = 100_000
"""Number of rows in a piece."""
_ANY: Final = "surrogateescape"
"""Error handler that passes bytes that are not UTF-8 through text unchanged."""

_SHOW: Final = {
    "size": "FILE_SIZE", "kballoc": "KB_ALLOCATED", "access": "ACCESS_TIME",
    "modify": "MODIFICATION_TIME", "uid": "USER_ID", "gid": "GROUP_ID", "nlink": "NLINK",
    "pool": "POOL_NAME", "misc": "MISC_ATTRIBUTES",
}  # fmt: skip
"""Attributes in the policy's lists, so that these lists can be harvested again."""


def rules(choice: Choice, files: str, size: str) -> str:
    """Write the rule file: an external list, exclusions and the rule that lists files.

    files, size: number and bytes of the files in the list, for the comment.
    """
    moment = choice.limit.strftime("%Y-%m-%d %H:%M:%S")
    times = [_SHOW[name.removesuffix("_time")] for name in choice.times]
    tests = [f"{name} < TIMESTAMP('{moment}')" for name in times]
    tests.append("NLINK = 1")
    if choice.above:
        tests.append(f"FILE_SIZE >= {choice.above}")
    if choice.uids:
        tests.append(f"({' OR '.join(f'USER_ID = {uid}' for uid in choice.uids)})")
    if choice.pool:
        tests.append(f"({' OR '.join(f'POOL_NAME = {literal(name)}' for name in choice.pool)})")
    if choice.under:
        tests.append(within(choice.under))
    if choice.only:
        tests.append(like(choice.only))
    plus = excluded = ""
    if set(choice.kind) - {"file", "unknown"}:
        plus = "\n  DIRECTORIES_PLUS"
        tests.append("NOT (MODE LIKE 'd%')")
    if choice.exclude:
        excluded = f"\nRULE 'excluded' LIST '{LIST}' EXCLUDE WHERE {like(choice.exclude)}\n"
    # the label may be the path of a list
    scan = printable_line(choice.found.scan.label).replace("*/", "* /")
    show = "\n    || ".join(f"'|{key}=' || VARCHAR({name})" for key, name in _SHOW.items())
    return (
        f"/* Deletion candidates: {files}, {size}, in the scan {scan}.\n"
        "   These rules only list matching files. They delete and move nothing.\n"
        "   mmapplypolicy DEVICE -P candidates.policy -i candidates.list -I defer -f found */\n\n"
        f"RULE 'lists' EXTERNAL LIST '{LIST}' EXEC '' ESCAPE '%/'\n"
        f"{excluded}\n"
        f"RULE 'candidates' LIST '{LIST}'{plus}\n"
        "  WEIGHT(KB_ALLOCATED)\n"
        f"  SHOW({show} || '|')\n"
        "  WHERE " + "\n    AND ".join(tests) + "\n"
    )


def file_list(objects: pl.DataFrame) -> Iterator[bytes]:
    """Write the list for ``mmapplypolicy -i``: records ``INODE:GENERATION:LENGTH!PATH``.

    The list is returned in pieces. Numbers are hexadecimal, except the length of the path in bytes;
    the path is unescaped. Records end with a newline, or with NUL if some path has a newline. The
    policy tests only these files and enters no directory. All inodes and generations must be known.
    """
    end = "\0" if objects["path"].str.contains("\n", literal=True).any() else "\n"
    for piece in objects.iter_slices(_PIECE):
        numbers = [_hex(piece[name].cast(pl.UInt64)) for name in ("inode", "generation")]
        length = piece["path"].str.len_bytes()
        heads = pl.select(pl.format("{}:{}:", *numbers)).to_series()
        texts = pl.select(pl.format("{}{}!{}", heads, length, piece["path"])).to_series().to_list()
        for row, raw in _raw(piece):
            texts[row] = f"{heads[row]}{len(raw)}!{raw.decode('utf-8', _ANY)}"
        yield (end.join(texts) + end).encode("utf-8", _ANY)


def path_list(objects: pl.DataFrame) -> Iterator[bytes]:
    """Write paths for people and for ``mmapplypolicy -i``, one per line, in pieces.

    A backslash is written as two, and a newline as a backslash and an n.
    """
    for piece in objects.iter_slices(_PIECE):
        texts = piece["path"].str.replace_many(["\\", "\n"], ["\\\\", "\\n"]).to_list()
        for row, raw in _raw(piece):
            texts[row] = raw.decode("utf-8", _ANY).replace("\\", "\\\\").replace("\n", "\\n")
        yield ("\n".join(texts) + "\n").encode("utf-8", _ANY)


def _raw(piece: pl.DataFrame) -> Iterator[tuple[int, bytes]]:
    """Return the rows whose bytes differ from ``path``, with these bytes."""
    numbered = piece.select("path_raw").with_row_index("row").drop_nulls()
    return numbered.iter_rows()


def _hex(numbers: pl.Series) -> pl.Series:
    digits = np.frombuffer(numbers.to_numpy().astype(">u8").tobytes().hex().encode(), "S16")
    return pl.Series(digits.astype("U16"))

"""The exporter ``gpfs-candidates``: a directory of lists, mails and a policy.

Nothing is deleted, moved or sent: what is written here is for people, and for ``mmapplypolicy``
with rules that list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Final

import attrs
import polars as pl

from harvest import DatasetReader, UsageError
from harvest.toolkit.amounts import bytes_in_words, count_in_words, share_in_words
from harvest.toolkit.files import new_directory
from harvest.toolkit.texts import printable_line
from harvest_toolkit.frames import possible

from ... import write_result
from .choose import Choice
from .policy import file_list, path_list, rules

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
    """Write ``candidates.csv``, ``owners.csv``, ``lists``, ``mails`` and the policy; its files.

    In lists and mails an object with several hard links stands once, at its first path; in
    ``candidates.list``, which a policy looks at, it does not stand at all; that is a list of paths
    alone where the scan does not say of every file its inode and generation.
    Raises UsageError where the directory is there already.
    """
    place = Path(target).expanduser()
    choice = Choice.of(dataset, **settings)
    day = choice.found.scan.label.partition("T")[0]
    letters = Letters(
        rule=f"{_TIMES[choice.time]} since {choice.limit:%Y-%m-%d}",
        day=day,
        lists=str(place.absolute() / "lists"),
        by=by,
        contact=contact,
        domain=mail_domain,
    )
    with new_directory(place) as folder:
        objects = choice.listed().collect()
        sums = choice.summed().collect()
        write_result(objects, folder / "candidates.csv")
        write_result(sums, folder / "owners.csv")
        alone = objects.filter(paths=1)
        said = bytes_in_words(alone.select(possible("size_bytes").sum()).item(), binary=True)
        rule = rules(choice, count_in_words(alone.height, "file"), said)
        (folder / "candidates.policy").write_text(rule, encoding="utf-8")
        told = alone.select("inode", "generation").null_count().sum_horizontal().sum() == 0
        _write(folder / "candidates.list", (file_list if told else path_list)(alone))
        (folder / "lists").mkdir()
        (folder / "mails").mkdir()
        found = objects.partition_by("uid", as_dict=True)
        with_some = sums.filter(pl.col("inodes") > 0)
        for row, name in zip(with_some.iter_rows(named=True), file_names(with_some), strict=True):
            theirs = found[row["uid"],]
            _write(folder / "lists" / f"{name}.txt", path_list(theirs))
            if row["uid"] is not None:
                mail = letters.message(row, f"{name}.txt", theirs)
                (folder / "mails" / f"{name}.eml").write_bytes(mail)
    return sorted(path for path in place.rglob("*") if path.is_file())


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(pieces)


_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_DOMAIN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_LARGEST: Final = 15


@attrs.frozen(kw_only=True)
class Letters:
    """What all messages say.

    rule: what makes something a candidate, in words; day: that of the scan.
    by: until when people are asked to look, as they will read it; contact: whom they may ask.
    domain: where owners read mail, so that messages have an address; lists: where theirs lie.
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
        """The message to one owner, as a mail program takes it.

        row: of ``gpfs.candidate_owners``; name: of the owner's list; objects: his candidates.
        """
        files = count_in_words(row["inodes"], "file")
        size = "of unknown size" if row["size_bytes"] is None else _bytes(row["size_bytes"])
        mail = EmailMessage()
        if self.domain is not None and _PLAIN.fullmatch(row["user"]) and not row["user"].isdigit():
            mail["To"] = f"{row['user']}@{self.domain}"
        mail["Subject"] = f"{files}, {size}: what could go"
        lines = self._lines(row, name, objects, f"{files}, {size}")
        # lines of 998 bytes are the longest that mail may have as they are
        short = all(len(line.encode()) < 998 for line in lines)
        mail.set_content("\n".join(lines) + "\n", cte="8bit" if short else None)
        return mail.as_bytes()

    def _lines(
        self, row: dict[str, Any], name: str, objects: pl.DataFrame, amount: str
    ) -> list[str]:
        share = f" ({share_in_words(row['share'])} of your bytes)" if row["share"] else ""
        allocated = row["allocated_bytes"]
        space = "" if allocated is None else f" They take {_bytes(allocated)} of storage."
        ask = f"Please look at them by {self.by}" if self.by else "Please look at them"
        lines = [
            f"Dear {printable_line(row['user'])},",
            "",
            f"as of {self.day}, you have {amount}{share}, {self.rule}.{space}",
            f"{ask}, and remove or archive what you no longer need.",
            "Nothing was removed, and this message removes nothing.",
            "",
            f"The whole list: {printable_line(f'{self.lists}/{name}')}",
            "",
            "The largest:" if objects.height > _LARGEST else "They are:",
        ]
        for size, path in objects.head(_LARGEST).select("size_bytes", "path").iter_rows():
            shown = "?" if size is None else _bytes(size)
            lines.append(f"  {shown:>10}  {printable_line(path)}")
        if row["linked_inodes"]:
            linked = count_in_words(row["linked_inodes"], "file")
            lines += [
                "",
                f"{linked} with several hard links, listed by one: all must go to free space.",
            ]
        return [*lines, "", f"Questions: {self.contact}"] if self.contact else lines


def file_names(owners: pl.DataFrame) -> list[str]:
    """A name for the files of each owner: the user's, where that is plain and of one owner."""
    users = Counter(owners["user"])
    return [
        user
        if user is not None and _PLAIN.fullmatch(user) and users[user] == 1
        else ("(unknown)" if uid is None else f"(uid-{uid})")
        for user, uid in owners.select("user", "uid").iter_rows()
    ]


def _bytes(size: int) -> str:
    return bytes_in_words(size, binary=True)

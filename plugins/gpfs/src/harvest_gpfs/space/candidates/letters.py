"""What goes to an owner: a message that says what could go, and how to see all of it."""

from __future__ import annotations

import re
from collections import Counter
from email.message import EmailMessage
from typing import Any, Final

import attrs
import polars as pl

from harvest import UsageError
from harvest.toolkit.amounts import bytes_in_words, count_in_words, share_in_words
from harvest.toolkit.texts import printable_line

__all__ = ["Letters", "file_names"]

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

"""Writing a word so that the program that reads a line gets exactly that word."""

from __future__ import annotations

import re
import shlex

from harvest import UsageError

_IN_A_RECIPE = "write it into a recipe, and name that: harvest schedule RECIPE.toml"


def plain_text(word: str) -> str:
    """The word, if a text file of lines can hold it; raises UsageError if not."""
    if any(ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u2028\u2029" for c in word):
        raise UsageError(
            f"{word!r} has a line end or another control character", remedy=_IN_A_RECIPE
        )
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"{word!r} is not UTF-8", remedy=_IN_A_RECIPE) from None
    return word


def for_cron(word: str) -> str:
    """One word of a command line in a crontab or scrontab.

    Cron takes ``%`` for the end of the line and ``\\%`` for a percent sign, also within quotes, and
    a shell reads what it makes of that.  A backslash before a percent sign *outside* quotes means
    the same to both, and to Slurm, where ``%`` is a character like any other.
    Raises UsageError for a backslash: crons differ in what they make of one.
    """
    if "\\" in plain_text(word):
        raise UsageError(
            f"{word!r} has a backslash, which crons read differently", remedy=_IN_A_RECIPE
        )
    if not word:
        return "''"
    return "\\%".join(shlex.quote(piece) if piece else "" for piece in word.split("%"))


def for_systemd(word: str) -> str:
    """One argument of ``ExecStart=`` (systemd.service(5), "Command lines")."""
    if re.fullmatch(r"[A-Za-z0-9_@+=:,./-]+", word):
        return word
    inner = plain_text(word).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + inner.replace("%", "%%").replace("$", "$$") + '"'


def for_systemd_path(path: str) -> str:
    """An absolute path that is the whole value of a setting; there quotes mean nothing."""
    value = plain_text(path).replace("%", "%%")
    # a space at the end would be cut off, a backslash there would join the next line
    return f"{value}/" if value.endswith(("\\", " ")) or value != value.rstrip() else value

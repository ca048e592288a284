"""The exporter ``gpfs-candidates``: a directory of lists, mails and a policy.

Nothing is deleted, moved or sent: what is written here is for people, and for ``mmapplypolicy``
with rules that list.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import polars as pl

from harvest import DatasetReader
from harvest.toolkit.amounts import bytes_in_words, count_in_words
from harvest.toolkit.files import new_directory
from harvest_toolkit.frames import possible

from ... import write_result
from .choose import Choice
from .letters import Letters, file_names
from .policy import file_list, path_list, rules

__all__ = ["write"]

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

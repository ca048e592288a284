"""Bugs of a source of many small files in a tree with links."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

ENTERED: Final = (
    "        if (status.st_dev, status.st_ino) in entered:\n            return\n"
    "        entered.add((status.st_dev, status.st_ino))\n"
)
IDENTIFIED: Final = (
    "        for path in self._cards(top, 0, set()):\n            found = True\n"
    "            yield file_partition(path, id=str(path.relative_to(top)))\n"
)

TREE: Final = (
    Bug(
        "tree",
        "links",
        "linked-directory-twice",
        "A directory that a link leads to is read twice: its rows are doubled.",
        ((ENTERED, ""),),
    ),
    Bug(
        "tree",
        "links",
        "dead-link-skipped",
        "A link to a file that is gone is passed over: nobody hears that a card is missing.",
        (("(path.is_file() or path.is_symlink())", "path.is_file()"),),
    ),
    Bug(
        "tree",
        "links",
        "origin-behind-link",
        "The origin is where a link leads: two linked cards are one input, and one is lost.",
        (
            (
                "            yield file_partition(path, id=str",
                "            yield file_partition(path.resolve(), id=str",
            ),
        ),
    ),
    Bug(
        "tree",
        "order",
        "order-of-scandir",
        "Cards come as the file system lists them: each copy of the tree has another order.",
        (
            (
                "names = sorted(entry.name for entry in entries)",
                "names = [e.name for e in sorted(entries, key=lambda e: e.inode())]",
            ),
        ),
    ),
    Bug(
        "tree",
        "order",
        "modules-by-hash",
        "Modules lose their order and repeats in a set: each process gives another list.",
        (
            (
                ".split(),\n        extra",
                ".split() and list(set(SAID)),\n        extra".replace("SAID", "modules.split()"),
            ),
            ('modules=said.pop("modules", "")', 'modules=(modules := said.pop("modules", ""))'),
        ),
    ),
    Bug(
        "tree",
        "errors swallowed",
        "unlistable-is-empty",
        "A directory that cannot be listed counts as empty, so that its rows may be dropped.",
        (
            (
                "        with os.scandir(folder) as entries:\n            names = sorted(entry.name for entry in entries)\n",
                "        try:\n            names = sorted(os.listdir(folder))\n        except OSError:\n            return\n",
            ),
        ),
    ),
    Bug(
        "tree",
        "texts changed",
        "names-normalised",
        "Names are normalised to NFC and no longer those of the files.",
        (
            (
                '.decode("utf-8", "backslashreplace"),',
                '.decode("utf-8", "backslashreplace").encode().decode(),'.replace(
                    ".encode().decode()", ""
                ),
            ),
            (
                "name=os.fsencode(path.stem)",
                'name=os.fsencode(unicodedata.normalize("NFC", path.stem))',
            ),
            ("import attrs\n", "import unicodedata\n\nimport attrs\n"),
        ),
    ),
    Bug(
        "tree",
        "errors end the run",
        "odd-name-ends-the-run",
        "A name with bytes that are not UTF-8 ends the user's whole run.",
        (('os.fsencode(path.stem).decode("utf-8", "backslashreplace")', "path.stem"),),
    ),
    Bug(
        "tree",
        "times",
        "time-of-the-file",
        "A card without a time gets that of its file, which a copy changes.",
        (
            ('said.keys() >= {"user", "time"}', 'said.keys() >= {"user"}'),
            (
                'datetime.fromisoformat(said.pop("time"))',
                'datetime.fromisoformat(said.pop("time", str(datetime.fromtimestamp(path.stat().st_mtime).astimezone())))',
            ),
        ),
    ),
)

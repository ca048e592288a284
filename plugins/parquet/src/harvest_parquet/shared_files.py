"""Which shared files must be written again: known from the descriptions of parts alone.

What writes them (``sharing``) comes with Arrow, which a run without small partitions can spare.
"""

from __future__ import annotations

from collections import Counter

from harvest import Publication


def broken_files(publication: Publication) -> set[str]:
    """Paths of shared files in force that lose some of their rows, or all but are still named.

    A part that has no row of a file keeps it named, with the rows of those that left.
    """
    kept = Counter(publication.parts.shared_rows())
    for files in publication.parts.pick(publication.staged).values():
        for file in files:
            if file.file_rows is not None:
                kept[file.path, file.file_rows] -= file.rows
    broken = {path for (path, rows), count in kept.items() if count not in (0, rows)}
    emptied = {path for (path, rows), count in kept.items() if rows and not count}
    if emptied:
        users = set(publication.parts.users_of(emptied)) - publication.staged.keys()
        named = (file.path for files in publication.parts.pick(users).values() for file in files)
        broken.update(emptied.intersection(named))
    return broken

"""Find the shared files that must be written again, from the descriptions of parts only.

The module ``sharing`` writes them; it imports Arrow, which a run without small partitions avoids.
"""

from collections import Counter

from harvest import Publication


def broken_files(publication: Publication) -> set[str]:
    """Return the paths of committed shared files that lose rows, but that other parts still name.

    Even a part without rows in a file would keep the file, with the rows of the removed parts.
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

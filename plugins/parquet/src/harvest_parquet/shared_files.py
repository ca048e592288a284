"""Which shared files are to be written anew: known from the descriptions of parts alone.

What writes them (``sharing``) comes with Arrow, which a run without small partitions can spare.
"""

from __future__ import annotations

from collections import Counter

from harvest import Publication

__all__ = ["broken_files"]


def broken_files(publication: Publication) -> set[str]:
    """Paths of shared files in force that lose some of their rows, but not all."""
    kept = Counter(publication.parts.shared_rows())
    for files in publication.parts.pick(publication.staged).values():
        for file in files:
            if file.file_rows is not None:
                kept[file.path, file.file_rows] -= file.rows
    return {path for (path, rows), count in kept.items() if count not in (0, rows)}

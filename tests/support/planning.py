"""Whether the partitions of changed files are those that a new plan of everything has."""

from pathlib import Path

from harvest import Partition, Source, SourceError


def change(root: Path, files: dict[str, str | None]) -> list[Path]:
    """Write files below a directory, or remove those without text; gives their paths."""
    for name, text in files.items():
        path = root / name
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return [root / name for name in files]


def require_changes_planned(source: Source, root: Path, files: dict[str, str | None]) -> bool:
    """After some files have changed, theirs are the partitions that differ from those before.

    False where the source gives None and thus has to list everything.
    """
    before = _plan(source)
    changed = change(root, files)
    after = _plan(source)
    given = source.plan_files(changed)
    if given is None or after is None:
        return given is not None
    partitions = list(given)
    paths = set(map(str, changed))
    differ = [p for p in after if p not in (before or ()) or not paths.isdisjoint(p.inputs)]
    assert [p.id for p in differ if p not in partitions] == []
    assert [p.id for p in partitions if p not in after] == []
    origins = {p.origin for p in partitions}
    assert [p.id for p in after if p.origin in origins and p not in partitions] == []
    assert len({p.id for p in partitions}) == len(partitions)
    return True


def _plan(source: Source) -> list[Partition] | None:
    try:
        return list(source.plan())
    except SourceError:  # nothing to read at all
        return None

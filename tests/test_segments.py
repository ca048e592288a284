"""The state of a dataset on disk: segments by change, read while others write, other formats."""

import hashlib
import multiprocessing
import os
from collections.abc import Iterator
from multiprocessing.synchronize import Event
from pathlib import Path

import attrs
import pytest
from datasets import Small, dump
from night import NIGHT

from harvest.api.sink import PartFile
from harvest.errors import DatasetError
from harvest.storage import fingerprint
from harvest.storage.history import forget, remember
from harvest.storage.manifest import NAME, Manifest
from harvest.storage.part import Part

COMMITS = 1_000 if NIGHT else 20


def part(number: int, rows: int = 1, *, files: tuple[PartFile, ...] = ()) -> Part:
    """The part of an input of that number, of which so many rows were read."""
    name = f"{number:06}.txt"
    digest = hashlib.sha256(name.encode()).hexdigest()
    return Part(
        key=digest[:16], stem=f"part-{digest[:16]}-{digest[16:28]}", source="s", partition=name,
        origin=f"/in/{name}", fingerprint=digest, plugin="p 1", config="c", files=files,
        rows={"x.y": rows}, read=rows, filtered={}, folded={}, rejected=0, rejects=None, notes=(),
        run="r",
    )  # fmt: skip


def file(path: str, rows: int, **shared: int) -> PartFile:
    """A file of so many rows; shared: which rows of how many, where it holds those of others."""
    return PartFile(
        path=path, record_type="x.y", rows=rows, size_bytes=9, sha256="0" * 64, **shared
    )


def manifest_of(parts: list[Part]) -> Manifest:
    return Manifest(sink="s", location="l", run="r0", parts={part.key: part for part in parts})


# --- the cost follows the change ------------------------------------------------------------------


@pytest.mark.slow
def test_a_commit_writes_what_changed_and_shares_the_rest(tmp_path: Path) -> None:
    # given a dataset of many parts
    first = manifest_of([part(n) for n in range(5_000)]).write(tmp_path / NAME)
    (large,) = (tmp_path / "segments").iterdir()

    # when one of them changes and another leaves
    changed = part(7, rows=9)
    second = first.after("r1", {changed.key: changed}, [part(8).key]).write(tmp_path / NAME)

    # then a small segment was added, and the large one is still in force
    (small,) = set((tmp_path / "segments").iterdir()) - {large}
    assert small.stat().st_size < 10_000 < large.stat().st_size
    assert [segment.entry.file for segment in second.parts.segments] == [large.name, small.name]
    found = Manifest.read(tmp_path / NAME)
    assert found is not None
    assert len(found.parts) == 4_999
    assert found.parts[changed.key] == changed
    assert part(8).key not in found.parts
    assert found.record_types() == {"x.y": 4_999 - 1 + 9}
    assert [one.partition for one in found][5:9] == [f"00000{n}.txt" for n in (5, 6, 7, 9)]


@pytest.mark.slow
def test_few_segments_hold_what_many_commits_changed(tmp_path: Path) -> None:
    manifest = manifest_of([part(n) for n in range(3_000)]).write(tmp_path / NAME)
    for number in range(40):
        changed = {one.key: one for one in (part(n, rows=number) for n in range(number, 3_000, 90))}
        manifest = manifest.after(f"r{number}", changed, ()).write(tmp_path / NAME)
        assert len(manifest.parts.segments) <= 3

    expected = [max((r for r in range(40) if (n - r) % 90 == 0 and r <= n), default=1)
                for n in range(3_000)]  # fmt: skip
    found = Manifest.read(tmp_path / NAME)
    assert found is not None
    assert [one.read for one in found] == expected


def test_a_shared_file_is_there_once_for_all_its_parts() -> None:
    shared = file("x.y/shared.parquet", 2, file_rows=6)
    mine = [attrs.evolve(shared, first_row=2 * n) for n in range(3)]
    manifest = manifest_of([part(n, rows=2, files=(mine[n],)) for n in range(3)])

    assert manifest.files.of_type("x.y") == [attrs.evolve(shared, rows=6, first_row=0)]
    # and where rows of it belong to nobody, piece by piece
    fewer = manifest.after("r1", {}, [part(1).key])
    assert fewer.files.of_type("x.y") == [mine[0], mine[2]]


# --- readers --------------------------------------------------------------------------------------


def _commit_again_and_again(state: Path, commits: int, ready: Event) -> None:
    ready.set()
    manifest = Manifest.load(state)
    assert manifest is not None
    for number in range(1, commits + 1):
        # each commit changes every part, now and then so few that segments are merged
        changed = {one.key: one for one in (part(n, rows=number) for n in range(600))}
        if number % 3:
            changed = dict(list(changed.items())[:: number % 3])
        manifest = manifest.after(f"r{number}", changed, ())
        manifest = attrs.evolve(manifest, location=str(sum(one.read for one in manifest)))
        manifest = manifest.save(state)
        remember(state, manifest)
        forget(state, manifest)


@pytest.mark.slow
def test_a_reader_sees_whole_commits_however_fast_they_come(tmp_path: Path) -> None:
    first = manifest_of([part(n) for n in range(600)])
    first = attrs.evolve(first, location="600").write(tmp_path / NAME)
    remember(tmp_path, first)
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    writer = context.Process(target=_commit_again_and_again, args=(tmp_path, COMMITS, ready))
    writer.start()
    assert ready.wait(60)
    seen = set()
    while writer.is_alive():
        manifest = Manifest.load(tmp_path)
        assert manifest is not None
        # every part is of this commit: their rows are as many as it says
        assert str(sum(one.read for one in manifest)) == manifest.location
        assert manifest.record_types() == {"x.y": int(manifest.location)}
        seen.add(manifest.run)
    writer.join()
    assert writer.exitcode == 0
    last = Manifest.load(tmp_path)
    assert last is not None
    assert last.run == f"r{COMMITS}"
    assert len(seen) > 1


def test_what_was_opened_stays_readable_when_a_commit_takes_its_segments(tmp_path: Path) -> None:
    small = Small(tmp_path).write(a=dump(1), b=dump(2))
    small.harvest(keep_runs=0)
    opened = small.manifest()

    small.write(b=dump(3, 4))
    small.harvest()

    assert {segment.entry.file for segment in opened.parts.segments}.isdisjoint(
        path.name for path in (small.state / "segments").iterdir()
    )
    assert opened.record_types() == {"slurm.job": 2}


# --- formats --------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [2, 4])
def test_a_dataset_of_another_format_is_left_alone(tmp_path: Path, other: int) -> None:
    small = Small(tmp_path).write(a=dump(1))
    small.harvest()
    path = small.state / NAME
    written = path.read_bytes().replace(b'"format": 3', b'"format": %d' % other)
    path.write_bytes(written)

    with pytest.raises(DatasetError, match=f"has format {other}; this harvest reads 3") as caught:
        small.harvest()

    assert caught.value.remedy is not None
    assert "harvest into a new place" in caught.value.remedy
    assert path.read_bytes() == written


# --- what the system says of a file ---------------------------------------------------------------


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The inputs of which head and tail were read; files count as settled at once."""
    names: list[str] = []
    ordinary = fingerprint._facts

    def noted(name: str) -> bytes:
        names.append(Path(name).name)
        return ordinary(name)

    monkeypatch.setattr(fingerprint, "SETTLED_NS", -(10**18))
    monkeypatch.setattr(fingerprint, "_facts", noted)
    return names


def test_head_and_tail_decide_where_the_system_says_something_else(
    tmp_path: Path, opened: list[str]
) -> None:
    # given an input that was put in place again: the same bytes and time, another inode
    small = Small(tmp_path).write(a=dump(1), b=dump(2))
    small.harvest()
    path = small.inputs / "a.txt"
    status = path.stat()
    path.with_name("new").write_bytes(path.read_bytes())
    path.with_name("new").replace(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    opened.clear()

    assert small.harvest().run is None
    assert opened == ["a.txt"]

    # and one of another content, though size and time are the same
    path.write_text(dump(7))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    small.harvest()
    assert small.jobs() == [7, 2]


def test_a_file_that_has_just_changed_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("new")
    assert fingerprint.facts([str(path)]) is None  # it may change again at the same time


def test_what_is_not_a_file_is_looked_at_as_a_whole(tmp_path: Path, opened: list[str]) -> None:
    assert fingerprint.facts([str(tmp_path)]) is None
    assert fingerprint.facts([str(tmp_path / "absent")]) is None
    assert fingerprint.facts([]) is None

"""Listing inputs, replacing files, checksums: compared with the system's own tools."""

import errno
import fcntl
import hashlib
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from harvest import Partition, SourceError, UsageError, file_partition
from harvest.toolkit.files import (
    files_among,
    flush,
    folders_of,
    input_path,
    list_files,
    new_directory,
    replacing,
    report_unreadable,
    walk_files,
    write_atomically,
)
from harvest.toolkit.plain import checksum, checksum_range


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files at several levels, links to files, directories and nowhere, and a pipe."""
    root = tmp_path / "tree"
    for name in ("b.txt", "a.txt", "sub/deep/c", "sub/d", ".hidden/e", "sub-x/f", "sub/é"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "linked").symlink_to(root / "a.txt")
    (root / "sub/folder").symlink_to(root)
    (root / "nowhere").symlink_to(root / "gone")
    (root / "circle").symlink_to(root / "circle")
    os.mkfifo(root / "pipe")
    return root


def test_files_are_those_that_find_lists(tree: Path) -> None:
    # a link that leads nowhere counts, so that what reads it reports it
    kinds = ["(", "-xtype", "f", "-o", "-xtype", "l", ")"]
    found = subprocess.run(["find", str(tree), *kinds], capture_output=True, text=True, check=False)
    listed = [path for _, files in walk_files(tree) for path in files]
    wanted = [*found.stdout.splitlines(), str(tree / "circle")]  # which find cannot follow
    assert sorted(map(str, listed)) == sorted(wanted)


def test_directories_come_in_the_order_of_their_names(tree: Path) -> None:
    folders = [str(folder.relative_to(tree)) for folder, _ in walk_files(tree)]
    assert folders == [".", ".hidden", "sub", "sub/deep", "sub-x"]
    names = [path.name for path in list_files(tree)]
    assert names == ["a.txt", "b.txt", "circle", "linked", "nowhere"]


def test_of_some_paths_those_are_files_that_a_walk_lists(tree: Path) -> None:
    behind_link = tree / "sub" / "folder" / "a.txt"
    paths = [*tree.rglob("*"), behind_link, tree / "gone", tree, tree.parent / "elsewhere"]
    listed = [path for _, files in walk_files(tree) for path in files]
    assert list(files_among(tree, map(str, paths))) == sorted(listed, key=str)


def test_directories_that_the_caller_does_not_want_are_not_entered(tree: Path) -> None:
    asked: list[str] = []
    wanted = walk_files(tree, enter=lambda path: not asked.append(path) and "deep" not in path)
    folders = [folder.relative_to(tree).as_posix() for folder, _ in wanted]
    assert folders == [".", ".hidden", "sub", "sub-x"]
    assert str(tree) not in asked


def test_depth_and_hidden_directories_are_the_callers_choice(tree: Path) -> None:
    shallow = [folder.name for folder, _ in walk_files(tree, depth=1, hidden=False)]
    assert shallow == ["tree", "sub", "sub-x"]
    assert len(list(walk_files(tree, depth=0))) == 1


def test_a_directory_that_cannot_be_listed_is_an_error(tree: Path, monkeypatch) -> None:
    """Once two sources passed it by, and its files were missing without a word."""
    usual = os.scandir

    def refuse(path):
        if Path(path).name == "deep":
            raise PermissionError(13, "Permission denied", str(path))
        return usual(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(PermissionError, match="deep"):
        list(walk_files(tree))


@pytest.mark.slow
def test_a_deep_tree_is_walked(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(300):
        folder = folder / "d"
    folder.mkdir(parents=True)
    assert len(list(walk_files(tmp_path))) == 301


def test_an_input_that_is_not_there_is_named(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "here").touch()
    assert input_path("here") == input_path("~/here") == tmp_path / "here"
    with pytest.raises(SourceError) as caught:
        input_path("gone")
    assert (
        str(caught.value) == f"{tmp_path / 'gone'}: no such file or directory; check the location"
    )


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out"
    write_atomically(path, b"old")
    with replacing(path) as temporary:
        temporary.write_bytes(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    with pytest.raises(KeyboardInterrupt), replacing(path) as temporary:
        _stop_within(temporary)
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_names_the_directory_that_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.mkdir()

    with pytest.raises(IsADirectoryError) as caught, replacing(path) as temporary:
        temporary.touch()

    assert caught.value.filename == str(path)
    assert list(tmp_path.iterdir()) == [path]


def _stop_within(temporary: Path) -> None:
    temporary.write_bytes(b"half")
    raise KeyboardInterrupt


def _killed_while_writing(path: Path) -> None:
    """What a process leaves that is killed halfway through a file."""
    program = (
        "import os, pathlib, signal, sys; from harvest.toolkit.files import replacing\n"
        "with replacing(pathlib.Path(sys.argv[1])) as temporary:\n"
        "    temporary.write_bytes(b'half of a long text')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, path], check=False)
    assert done.returncode == -signal.SIGKILL


def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "out"
    _killed_while_writing(path)
    _killed_while_writing(path)
    assert len(list(tmp_path.iterdir())) == 1

    with replacing(path) as temporary:
        assert temporary.read_bytes() == b""
        temporary.write_bytes(b"all")

    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"all"


def test_a_link_in_the_temporary_file_s_place_is_not_followed(tmp_path: Path) -> None:
    path, victim = tmp_path / "out", tmp_path / "victim"
    victim.write_text("precious")
    with replacing(path) as temporary:
        temporary.write_bytes(b"")
    temporary.symlink_to(victim)

    write_atomically(path, b"new")

    assert path.read_bytes() == b"new"
    assert victim.read_text() == "precious"


def test_checksums_are_those_of_sha256sum(tmp_path: Path) -> None:
    path = tmp_path / "data"
    data = Random(1).randbytes(3 * 1024 * 1024 + 17)
    path.write_bytes(data)
    said = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True)
    assert checksum(path) == said.stdout.split()[0]
    assert flush(path) == (len(data), checksum(path))


@pytest.mark.parametrize(("start", "size"), [(0, 0), (5, 2_000_000), (2_999_990, 10), (9, 10**9)])
def test_a_range_is_copied_and_has_the_checksum_of_its_bytes(tmp_path: Path, start, size) -> None:
    path = tmp_path / "data"
    data = Random(1).randbytes(3_000_000)
    path.write_bytes(data)
    copy = io.BytesIO()
    expected = hashlib.sha256(data[start : start + size]).hexdigest()
    assert checksum_range(path, start, size, copy) == checksum_range(path, start, size) == expected
    assert copy.getvalue() == data[start : start + size]


def test_a_partition_of_a_file_may_be_given_as_a_string(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_bytes(b"123")
    expected = Partition(
        id="a", origin=str(tmp_path / "a"), inputs=(str(tmp_path / "a"),), size_bytes=3
    )
    for path in ("a", Path("a"), str(tmp_path / "a"), tmp_path / "a"):
        assert file_partition(path, id="a") == expected


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (FileNotFoundError(2, "No such file", "/a/b"), "/a/b: no such file or directory"),
        (PermissionError(13, "Permission denied", "/a/c"), "/a/c: cannot be read: Permission"),
        (OSError(5, "Input/output error"), "/a: cannot be read: Input/output error"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_the_source(error: OSError, words: str) -> None:
    with pytest.raises(SourceError) as raised, report_unreadable(Path("/a")):
        raise error
    assert str(raised.value).startswith(words)


def test_the_directories_of_some_files_are_those_that_a_walk_lists(tmp_path: Path) -> None:
    for name in ("a/b/c", "a/.b", "d"):
        (tmp_path / name).mkdir(parents=True)
    files = [tmp_path / name for name in ("a/b/c/x", "a/b/y", "a/b/z", "a/.b/x", "d/x", "gone/x")]
    choices: list[dict[str, Any]] = [{}, {"depth": 2}, {"hidden": False}]
    for options in choices:
        walked = {folder for folder, _ in walk_files(tmp_path, **options)}
        expected = [folder for folder in dict.fromkeys(f.parent for f in files) if folder in walked]
        assert list(folders_of(tmp_path, files, **options)) == expected
        assert expected


def test_a_directory_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    with new_directory(tmp_path / "new") as directory:
        (directory / "a").write_text("a")
        assert not (tmp_path / "new").exists()
    assert [path.name for path in tmp_path.rglob("*")] == ["new", "a"]

    with pytest.raises(FileExistsError), new_directory(tmp_path / "other") as directory:
        os.link(__file__, directory)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


@pytest.mark.parametrize(
    ("there", "target", "words"),
    [("a", "a", "this exists already"), ("a.incomplete", "a", "left by an interrupted command"),
     ("a", "b/c", "no such directory")],
)  # fmt: skip
def test_a_directory_that_cannot_be_new_is_refused(
    tmp_path: Path, there: str, target: str, words: str
) -> None:
    (tmp_path / there).mkdir()
    with pytest.raises(UsageError, match=words), new_directory(tmp_path / target):
        pass
    assert [path.name for path in tmp_path.iterdir()] == [there]


def test_two_writers_of_one_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with replacing(path) as one, replacing(path) as two:
        one.write_bytes(b"one")
        two.write_bytes(b"two")
    assert path.read_bytes() == b"one"  # the block that ended last


def test_where_there_are_no_locks_a_file_is_replaced_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", without)

    write_atomically(tmp_path / "out", b"new")

    assert list(tmp_path.iterdir()) == [tmp_path / "out"]

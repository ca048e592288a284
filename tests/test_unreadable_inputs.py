"""Inputs that cannot be opened: each is one reject of its source, and all others are read."""

import errno
import os
import socket
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

import crash
import pytest
import small_inputs
from commands import harvest_here
from crash import Place

import harvest

SINK = ("jsonl:J",)


def break_one_of_each(inputs: Path, how: str) -> dict[str, str]:
    """Make the last file of each source one that cannot be opened; source -> file."""
    broken = {}
    for name in small_inputs.MAKERS:
        path = max(path for path in (inputs / name).iterdir() if path.suffix != ".txt"
                   or name == "slurm")  # fmt: skip
        if how == "no permission":
            path.chmod(0)
        else:
            path.unlink()
            path.symlink_to(path.name if how == "a link to itself" else "nowhere")
        broken[name] = str(path)
    if "mofka-dask" in broken:  # one whose name alone does not say what it is
        (inputs / "mofka-dask" / "anything.csv").symlink_to("nowhere")
    return broken


def parts_of(place: Place) -> dict[tuple[str, str], Any]:
    """What was read of each partition whose origin is a file, with its rejects."""
    dataset = harvest.open(place.locations()[0])
    return {
        (part.source, part.origin): (part.rows, part.rejected, part.read)
        for part in dataset.parts
        if Path(part.origin).is_symlink() or Path(part.origin).is_file()
    }


def run(place: Place, how: str, before: list[str]) -> int:
    """Harvest as a command, where permissions matter as one that they bind; its exit code."""
    if how != "no permission":
        return harvest_here(*place.arguments(1)).returncode
    process = crash.start(place.arguments(1), before=before)
    _, said = process.communicate(timeout=300)
    assert "Traceback" not in said
    return process.returncode


@pytest.mark.slow
@pytest.mark.parametrize("how", ["a link to nowhere", "a link to itself", "no permission"])
def test_one_bad_file_of_each_source_is_one_reject(
    how: str, bound_by_permissions: list[str], tmp_path: Path
) -> None:
    # given inputs of every source, and what is read of them
    sound = Place(tmp_path / "sound", tmp_path / "in", SINK)
    small_inputs.write(sound.inputs, 1)
    sound.harvest()
    expected = parts_of(sound)
    rejects = Counter(r["origin"] for r in harvest.open(sound.locations()[0]).rejects())

    # when one file of each cannot be opened
    broken = break_one_of_each(sound.inputs, how)
    place = Place(tmp_path / "D", sound.inputs, SINK)
    status = run(place, how, bound_by_permissions)

    # then each is one reject with its origin and the reason, and all others are as they were
    assert status == 3
    dataset = harvest.open(place.locations()[0])
    found = {r["origin"]: r["reason"] for r in dataset.rejects()}
    counts = Counter(r["origin"] for r in dataset.rejects())
    said = {"no permission": "Permission denied", "a link to itself": "symbolic links"}
    for source, path in broken.items():
        assert counts[path] == 1, source
        assert said.get(how, "") in found[path]
    others = {key: read for key, read in parts_of(place).items() if key[1] not in broken.values()}
    others = {key: read for key, read in others.items() if not key[1].endswith("/anything.csv")}
    assert others == {k: read for k, read in expected.items() if k[1] not in broken.values()}
    new = counts - rejects
    assert set(new) <= {*broken.values(), str(place.inputs / "mofka-dask" / "anything.csv")}


@pytest.mark.parametrize("source", small_inputs.MAKERS)
def test_a_directory_that_cannot_be_listed_ends_the_run_in_one_line(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # what is in it is unknown, so that its rows might leave the dataset
    small_inputs.write(tmp_path, 1)

    def refuse(path: Any = ".") -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(harvest.SourceError) as caught:
        harvest.run(f"{source}:{tmp_path / source}", f"jsonl:{tmp_path / 'out'}", workers=1)
    assert caught.value.message == "cannot be read: Permission denied"
    assert caught.value.where == str(tmp_path / source)


# --- what is no file ------------------------------------------------------------------------------


def put_no_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Put a pipe, a socket and a link to a device there; by path what each is."""
    os.mkfifo(folder / "a.csv")
    with socket.socket(socket.AF_UNIX) as here:
        monkeypatch.chdir(folder)  # the path of a socket must be short
        here.bind("socket")
    (folder / "null").symlink_to("/dev/null")
    (folder / "elsewhere").symlink_to("..")  # a link to a directory is not followed, and no matter
    kinds = {"a.csv": "a named pipe", "socket": "a socket", "null": "a character device"}
    return {str(folder / name): kind for name, kind in kinds.items()}


@pytest.mark.slow
@pytest.mark.parametrize("source", small_inputs.MAKERS)
def test_each_source_passes_over_what_is_no_file_and_names_it(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_inputs.write(tmp_path, 1, [source])
    folder, out = tmp_path / source, tmp_path / "out"
    plain = harvest.run(f"{source}:{folder}", f"jsonl:{tmp_path / 'plain'}", workers=1)
    expected = put_no_files(folder, monkeypatch)

    result = harvest.run(f"{source}:{folder}", f"jsonl:{out}", workers=1)

    assert result.no_files == expected
    assert result.rows == plain.rows
    more = set(result.left_out) - set(plain.left_out)
    assert more == {(f"{kind}: {path}", 1) for path, kind in expected.items()}
    (record,) = harvest.open(out).runs()
    assert record["no_files"] == expected


def test_two_sources_of_a_directory_count_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_inputs.write(tmp_path, 1)
    expected = put_no_files(tmp_path / "slurm", monkeypatch)
    sources = [str(tmp_path / "slurm"), f"gpfs:{tmp_path / 'gpfs'}"]
    for given in (sources, [f"slurm:{tmp_path / 'slurm'}", *sources[1:]]):
        result = harvest.run(given, f"jsonl:{tmp_path / 'out'}", workers=1, force=True)
        assert result.no_files == expected
        assert result.document()["no_files"] == expected


def test_of_very_many_some_are_named(tmp_path: Path) -> None:
    small_inputs.write(tmp_path, 1)
    for number in range(25):
        os.mkfifo(tmp_path / "slurm" / f"pipe{number:02}")
    result = harvest.run(f"slurm:{tmp_path / 'slurm'}", f"jsonl:{tmp_path / 'out'}", workers=1)
    named = [each for each in result.left_out if each[0].startswith("a named pipe: ")]
    assert len(named) == 20
    assert result.left_out[-1] == ("more pipes, sockets and devices", 5)
    assert len(result.no_files) == 25
    # and a run that finds nothing new says it again
    again = harvest.run(f"slurm:{tmp_path / 'slurm'}", f"jsonl:{tmp_path / 'out'}", workers=1)
    assert (again.run, again.no_files) == (None, result.no_files)

"""Pipes, sockets and devices in an input directory: never opened, named once, and recorded."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
import small_inputs

import harvest


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


@pytest.mark.parametrize("source", small_inputs.MAKERS)
def test_each_source_passes_over_what_is_no_file_and_names_it(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_inputs.write(tmp_path, 1)
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

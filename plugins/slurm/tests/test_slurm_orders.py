"""Dumps without a header: the known order that lines fit is taken, and said; others are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_slurm_presets import PRINTED

from harvest import Collected, SourceError, collect
from harvest_slurm.config import SlurmConfig
from harvest_slurm.read.layout import find_layout
from harvest_slurm.read.presets import PRESETS
from harvest_slurm.source import SlurmSource

PLAIN = {**PRINTED, "JobName": "plain", "ReqGRES": "gpu:1"}


def written(tmp_path: Path, preset: str, trailing: bool = False) -> Path:
    """Three jobs in the order of a program, as sacct -P prints them, or with -p."""
    line = "|".join(PLAIN.get(field, "") for field in PRESETS[preset]) + "|" * trailing + "\n"
    path = tmp_path / "dump.txt"
    path.write_text("".join(line.replace("12_3", f"12_{task}") for task in (1, 2, 3)))
    return path


def read(path: Path, **config: Any) -> Collected:
    return collect(SlurmSource(str(path), SlurmConfig(timezone="UTC", **config)))


def tables(found: Collected) -> dict[str, list[dict[str, Any]]]:
    """Rows without where they stood, which a header moves."""
    return {
        name: [
            {k: v for k, v in row.items() if k not in ("origin", "position", "job_position")}
            for row in rows
        ]
        for name, rows in ((n, t.to_pylist()) for n, t in found.tables.items())
    }


@pytest.mark.parametrize("trailing", [False, True], ids=["-P", "-p"])
@pytest.mark.parametrize("preset", PRESETS)
def test_an_order_that_fits_is_taken_and_said(tmp_path: Path, preset: str, trailing: bool) -> None:
    path = written(tmp_path, preset, trailing=trailing)

    found = read(path)

    assert tables(found) == tables(read(path, layout=preset))
    assert not found.rejects
    assert f"its columns were taken as those of {preset}, " in found.notes[0]
    sure = SlurmSource.detect(path)
    assert sure is not None
    assert sure.confidence == 0.9
    assert f"in the order of {preset}: 3 lines looked at fit" in sure.reason


@pytest.mark.parametrize(
    ("sample", "lines"),
    [("parsable2-all-fields", 1), ("default", 2), ("brief", 2), ("default-allocations", 2)],
)
def test_a_real_dump_gives_the_same_rows_without_its_header(
    shared_data: Path, tmp_path: Path, sample: str, lines: int
) -> None:
    whole = shared_data / "slurm" / "debian-22.05" / f"{sample}.out"
    if not whole.exists():
        pytest.skip("the real samples are absent")
    path = tmp_path / "dump.txt"
    path.write_bytes(b"".join(whole.read_bytes().splitlines(keepends=True)[lines:]))

    assert tables(read(path)) == tables(read(whole))


def test_names_with_delimiters_and_line_breaks_hide_no_order(
    shared_data: Path, tmp_path: Path
) -> None:
    tool = shared_data.parent / "tools" / "gen_sacct.py"
    if not tool.exists():
        pytest.skip("the generator is absent")
    paths = {}
    for name, options in {"with": [], "without": ["--no-header"]}.items():
        paths[name] = tmp_path / f"{name}.txt"
        made = ["--rows", "500", "--nasty", "0.1", "--delimiter", ";|;", "-o", str(paths[name])]
        subprocess.run([sys.executable, str(tool), *made, *options], check=True)

    assert tables(read(paths["without"])) == tables(read(paths["with"]))


def test_what_no_order_fits_is_an_error_that_says_what_the_fields_are_like() -> None:
    row = "7.batch|x|ann|COMPLETED|0:0|2024-05-01T08:00:00|2024-05-01T09:00:00|01:00:00|cpu=1"

    with pytest.raises(SourceError) as refused:
        find_layout(f"{row}\n{row}\n".encode(), where="dump.txt")

    assert (
        "no known order of columns fits (fields 1 like JobID, 4 like State, 5 like ExitCode, "
        "6-7 like a time, 8 like a duration, 9 like TRES)"
    ) in str(refused.value)


def test_an_order_is_not_taken_for_its_number_of_columns(tmp_path: Path) -> None:
    fields = [*PRESETS["xdmod"]]
    fields[0], fields[-5] = fields[-5], fields[0]  # the id where resources belong
    line = "|".join(PLAIN.get(field, "") for field in fields)

    with pytest.raises(SourceError, match="no known order of columns fits"):
        find_layout(f"{line}\n".encode(), where="")


def test_lines_that_fit_two_orders_are_left_to_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(PRESETS, "other", ("JobIDRaw", "State", "DerivedExitCode"))

    with pytest.raises(SourceError) as refused:
        find_layout(b"1|COMPLETED|0:0\n", where="dump.txt")

    assert "its lines fit sacct-brief as well as other" in str(refused.value)
    assert "--set slurm.layout=sacct-brief" in str(refused.value)

"""A foreign file among good ones: the command that look prints reads what look says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from commands import harvest_here

import harvest
from harvest.plugins.registry import manager

DUMP = "JobID|JobName|State\n{0}|job|COMPLETED\n"


@pytest.mark.parametrize("dumps", [2, 30])
def test_the_printed_command_reads_the_good_files_and_names_the_foreign_one(
    tmp_path: Path, dumps: int
) -> None:
    if "slurm" not in manager().sources:
        pytest.skip("needs the plugin slurm")
    folder = tmp_path / "a b"
    folder.mkdir()
    for number in range(dumps):
        (folder / f"{number}.txt").write_text(DUMP.format(number + 1))
    (folder / "README.md").write_text("What lies here.\n")

    looked = harvest_here("look", "a b", cwd=tmp_path)
    printed = re.search(r"harvest (run (?:.*\\\n)+.*)\n", looked.stdout)
    assert printed is not None
    ran = harvest_here(*shlex.split(printed[1].replace("\\\n", " ")), cwd=tmp_path)

    assert "1 file that nobody knows" in looked.stdout
    assert "README.md" in looked.stdout
    assert (ran.returncode, harvest.open(tmp_path / "out").record_types) == (
        0,
        {"slurm.job": dumps},
    )
    bare = harvest_here("run", "-s", "a b", "-k", "parquet:bare", cwd=tmp_path)
    assert bare.returncode == 0
    assert "1 file that no source recognises, such as README.md" in bare.stderr
    assert harvest.open(tmp_path / "bare").record_types == {"slurm.job": dumps}

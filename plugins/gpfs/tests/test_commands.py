"""The commands ``harvest gpfs ...``, as a user calls them."""

import csv
import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import harvest_here

import harvest

pytestmark = pytest.mark.slow

LINE = (
    "{n} 65537 0  |size={size}|kballoc=16|access={day} 00:00:00|modify={day} 00:00:00|uid={uid}"
    "|gid=100|pool=data|misc=FAu| -- {path}\n"
)


def listed(path: Path, count: int, *, skip: int = 0, day: str = "2026-01-01") -> Path:
    """A list of so many files of three users in four top-level directories."""
    path.write_text(
        "".join(
            LINE.format(
                n=n, size=n * 7, day=day, uid=1000 + n % 3, path=f"/data/top{n % 4}/file_{n}"
            )
            for n in range(1, count + 1)
            if not skip or n % skip
        )
    )
    return path


def gpfs(*arguments: Any, code: int = 0) -> str:
    """What ``harvest gpfs ARGUMENTS...`` prints."""
    done = harvest_here("gpfs", *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_from_one_compressed_list_to_a_table(tmp_path: Path) -> None:
    plain = listed(tmp_path / "scan-20260111.list", 120)
    packed = tmp_path / "scan-20260111.list.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    out = gpfs("split", packed, tmp_path / "parts", "-n", 3)
    assert len(out.splitlines()) == 3
    assert "120 rows, 0 rejects" in gpfs("convert", tmp_path / "parts", "-t", tmp_path / "flat")
    gpfs("convert", plain, "-t", tmp_path / "hive", "--layout", "hive")
    assert sorted(p.name for p in (tmp_path / "hive").iterdir()) == [
        f"top=%2Fdata%2Ftop{n}" for n in range(4)
    ]
    told = gpfs("aggregate", tmp_path / "flat", "-t", tmp_path / "a.csv", "--by", "uid,top")
    assert "backend: memory" in told
    gpfs("aggregate", tmp_path / "hive", "-t", tmp_path / "b.csv", "--by", "uid,top",
         "--backend", "streaming")  # fmt: skip
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    found = {(r["uid"], r["top"]): int(r["size_bytes"]) for r in table(tmp_path / "a.csv")}
    numbers = range(1, 121)
    assert found == {
        (str(1000 + uid), f"/data/top{top}"): sum(
            n * 7 for n in numbers if n % 3 == uid and n % 4 == top
        )
        for uid in range(3)
        for top in range(4)
    }


def test_churn_compares_lists_and_datasets_alike(tmp_path: Path) -> None:
    old = listed(tmp_path / "old-20260111.list", 40)
    new = listed(tmp_path / "new-20260118.list", 44, skip=5)
    gpfs("churn", old, new, "-t", tmp_path / "lists.csv")
    gpfs("convert", old, "-t", tmp_path / "old")
    gpfs("convert", new, "-t", tmp_path / "new")
    gpfs("churn", tmp_path / "old", tmp_path / "new", "-t", tmp_path / "sets.csv")
    assert (tmp_path / "lists.csv").read_bytes() == (tmp_path / "sets.csv").read_bytes()
    rows = table(tmp_path / "lists.csv")
    assert [row["top"] for row in rows] == [f"/data/top{n}" for n in range(4)]
    assert sum(int(row["deleted"]) for row in rows) == 8
    assert sum(int(row["created"]) for row in rows) == 4
    deleted = sum(n * 7 for n in range(5, 41, 5))
    assert sum(int(row["deleted_bytes"]) for row in rows) == deleted


def test_a_dataset_with_itself_is_its_latest_two_scans(tmp_path: Path) -> None:
    # given a dataset of three scans, the latest of which has four files more than that before
    lists = tmp_path / "lists"
    lists.mkdir()
    for day, count in (("11", 40), ("18", 50), ("25", 54)):
        listed(lists / f"scan-202601{day}.list", count)
    gpfs("convert", lists, "-t", tmp_path / "out")
    # when it is compared with itself, then that is said, and the latest two scans are compared
    printed = gpfs("churn", tmp_path / "out", f"{tmp_path}/lists/../out", "-t", tmp_path / "x.csv")
    assert "from 2026-01-18T00:00:00Z to 2026-01-25T00:00:00Z" in printed
    rows = table(tmp_path / "x.csv")
    assert sum(int(row["created"]) for row in rows) == 4
    assert {row["old_scan"] for row in rows} == {"2026-01-18T00:00:00Z"}
    # and others by name, but none with itself
    named = ["churn", tmp_path / "out", tmp_path / "out", "-t", tmp_path / "y.csv"]
    gpfs(*named, "--old-scan", "2026-01-11")
    assert sum(int(row["created"]) for row in table(tmp_path / "y.csv")) == 14
    printed = gpfs(*named, "--old-scan", "2026-01-25", code=2)
    assert "compared with itself" in printed


@pytest.mark.parametrize("other", ["out", "copy"])
def test_one_scan_is_not_compared_with_itself(tmp_path: Path, other: str) -> None:
    # given a dataset of one scan, and a copy of it
    gpfs("convert", listed(tmp_path / "scan-20260111.list", 40), "-t", tmp_path / "out")
    shutil.copytree(tmp_path / "out", tmp_path / "copy")
    # when it is compared with itself, then that is refused, and the scan that is there is named
    printed = gpfs("churn", tmp_path / "out", tmp_path / other, "-t", tmp_path / "x.csv", code=2)
    assert "2026-01-11T00:00:00Z" in printed
    assert not (tmp_path / "x.csv").exists()


def test_how_far_jobs_are_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # given a Slurm that accepts job 7 and then forgets it, and a split submitted to it
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, said in {"sbatch": "7", "squeue": "", "sacct": ""}.items():
        (programs / name).write_text(f"#!/bin/sh\nprintf '%s\\n' '{said}'\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    path = listed(tmp_path / "scan.list", 5)
    gpfs("split", path, tmp_path / "parts", "-n", 2, "--submit", "--detach")

    # when its state is asked for, then each job of the batch is an object with its commands
    found = json.loads(gpfs("status", tmp_path / "parts", "--json", code=1))

    (jobs,) = found.values()
    assert [(job["name"], len(job["commands"])) for job in jobs] == [
        ("split", 2),
        ("split-last", 1),
    ]
    assert all(job["job_ids"] == [7] for job in jobs)
    assert sum(job["failed"] for job in jobs) == 3


def test_results_go_to_output_by_any_of_its_names(tmp_path: Path) -> None:
    path = listed(tmp_path / "scan-20260111.list", 30)
    gpfs("convert", path, "--output", tmp_path / "new")
    gpfs("convert", path, "-t", tmp_path / "old", "--set", "escape=auto")
    tables = []
    for number, name in enumerate(("-o", "--output", "-t", "--to")):
        file = tmp_path / f"{number}.csv"
        gpfs("aggregate", tmp_path / ("new" if number % 2 else "old"), name, file)
        tables.append(file.read_text())
    assert len(set(tables)) == 1


def test_a_conversion_to_hive_that_was_cut_short_goes_on(tmp_path: Path) -> None:
    listed(tmp_path / "scan-20260111.list", 30)
    # what an attempt that was killed before sorting leaves: the dataset, and no target
    harvest.run(f"gpfs:{tmp_path}/scan-20260111.list", f"parquet:{tmp_path}/.out.converting")
    gpfs("convert", tmp_path / "scan-20260111.list", "-t", tmp_path / "out", "--layout", "hive")
    assert not (tmp_path / ".out.converting").exists()
    assert len(list((tmp_path / "out").rglob("*.parquet"))) == 4


def test_scripts_are_shown_and_nothing_is_done(tmp_path: Path) -> None:
    path = listed(tmp_path / "a; rm -rf $(HOME) 'x'.list", 30)
    out = gpfs("split", path, tmp_path / "parts", "-n", 2, "--submit", "--dry-run",
               "--partition", "cpu", "--time", "10:00", "--memory", "2G",
               "--env-setup", "module load python")  # fmt: skip
    assert "#SBATCH --partition=cpu" in out
    assert "#SBATCH --time=10:00" in out
    assert "#SBATCH --mem=2G" in out
    assert "module load python" in out
    assert "#SBATCH --array=0-1" in out
    assert "--dependency=afterany:<split>" in out
    scripts = [line for line in out.splitlines() if not line.startswith("#")]
    assert not any("rm -rf" in line for line in scripts), "no name of a file is in a script"
    assert not (tmp_path / "parts").exists()
    out = gpfs("convert", path, "-t", tmp_path / "out", "--submit", "--dry-run")
    assert "harvest-stage" in out
    assert "#SBATCH" in out
    assert not (tmp_path / "out").exists()
    for command in (["aggregate", path], ["churn", path, path]):
        out = gpfs(*command, "-t", tmp_path / "x.csv", "--submit", "--dry-run")
        assert "#SBATCH" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["split", "absent", "parts", "-n", "2"], "cannot be read"),
        (["split", "scan.list", "parts", "-n", "2", "--compress", "bzip2"], "bzip2"),
        (["split", "scan.list", "parts", "-n", "2", "--submit", "--time", "soon"], "soon"),
        (["convert", "scan.list", "-t", "out", "--layout", "tree"], "tree"),
        (["convert", "scan.list", "-t", "out", "--root", "/data"], "hive"),
        (["convert", "scan.list", "-t", "out", "--set", "nonsense"], "KEY=VALUE"),
        (["aggregate", "absent", "-t", "x.csv"], "no such file"),
        (["aggregate", "scan.list", "-t", "x.csv"], "not a Parquet file"),
        (["churn", "absent", "absent", "-t", "x.csv"], "no such file"),
        (["status", "."], "no batch jobs"),
    ],
)
def test_mistakes_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    listed(tmp_path / "scan.list", 5)
    monkeypatch.chdir(tmp_path)
    done = harvest_here("gpfs", *arguments)
    assert done.returncode in (1, 2), done.stdout + done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["scan.list"]

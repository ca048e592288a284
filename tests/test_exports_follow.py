"""Exports that follow a run: made after the commit, caught up with later, and harming nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from commands import harvest_alone, harvest_here
from datasets import dump

import harvest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_plugin_files")]

pytest.importorskip("harvest_slurm")

COUNTS = """
import json
from pathlib import Path
import harvest

def write(dataset, target, *, word="rows"):
    if "@" in target:
        raise OSError(f"no route to {target}")
    place = Path(target)
    if place.exists() and json.loads(place.read_text())["state"] == dataset.manifest.token:
        return []
    found = {"state": dataset.manifest.token, word: sum(h.rows for h in dataset.holdings())}
    place.write_text(json.dumps(found))
    return [place]

counts = harvest.ExporterSpec(
    name="counts", doc="How many rows, and in which state.", write=write,
    settings={"word": harvest.Setting("what they are called", type=str, default="rows")},
)

harvest_exporters = harvest.declare(counts)

@harvest.hookimpl
def harvest_committed(dataset, result):
    Path("heard.txt").write_text(json.dumps(dict(result.exports) if result else None))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "counts.py").write_text(COUNTS)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(dump(1, 2))
    return tmp_path


PLUGIN = ("--plugin", "counts.py")
PLACES = ("-s", "slurm:in", "--set", "slurm.timezone=UTC", "-k", "parquet:out")


def harvested(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return harvest_here(*PLUGIN, "run", *PLACES, *words, cwd=folder)


def exported(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "counts.json").read_text())
    return found


def state(folder: Path) -> str:
    return harvest.open(folder / "out").manifest.token


def test_an_export_follows_the_commit(folder: Path) -> None:
    done = harvested(folder, "--export", "counts:counts.json", "--set", "counts.word=jobs")
    assert done.returncode == 0
    assert "exported to counts:counts.json" in done.stdout
    assert exported(folder) == {"state": state(folder), "jobs": 2}
    # and who hears of the commit knows of it
    assert json.loads((folder / "heard.txt").read_text()) == {"counts:counts.json": None}


def test_one_that_fails_is_a_remark_and_the_next_run_catches_up(folder: Path) -> None:
    # given a target where nothing can be written, and a line that is no job
    (folder / "in" / "b.txt").write_text(dump(3, damaged=1))
    (folder / "counts.json").mkdir()
    done = harvested(folder, "--export", "counts:counts.json")
    # then all of it is committed
    assert done.returncode == 5
    assert "not exported to counts:counts.json" in done.stderr
    assert harvest.open(folder / "out").record_types == {"slurm.job": 3}
    assert json.loads((folder / "heard.txt").read_text())["counts:counts.json"]
    # and one that finds nothing new and fails again says so, too
    (folder / "in" / "b.txt").touch()
    for words in ((), ("-q",)):
        failed = harvested(folder, "--export", "counts:counts.json", *words)
        assert failed.returncode == 5
        assert "not exported to counts:counts.json" in failed.stderr
    # and a run that finds nothing new exports it
    (folder / "counts.json").rmdir()
    again = harvested(folder, "--export", "counts:counts.json", "--json")
    assert again.returncode == 0
    assert json.loads(again.stdout)["run"] is None
    assert json.loads(again.stdout)["exports"] == {"counts:counts.json": None}
    assert exported(folder) == {"state": state(folder), "rows": 3}


def test_a_killed_export_leaves_a_dataset_that_the_next_run_exports(folder: Path) -> None:
    # given a run that ends within the export
    ends = "    import os; os._exit(9)\n    place.write_text"
    slow = COUNTS.replace("    place.write_text", ends)
    (folder / "counts.py").write_text(slow)
    words = (*PLUGIN, "run", *PLACES, "--export", "counts:counts.json")
    assert harvest_alone(*words, cwd=folder).returncode == 9
    assert harvest.open(folder / "out").record_types == {"slurm.job": 2}
    (folder / "counts.py").write_text(COUNTS)
    assert harvested(folder, "--export", "counts:counts.json").returncode == 0
    assert exported(folder)["rows"] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--export", "count:x"], "unknown exporter 'count'; did you mean 'counts'?"),
        (["--export", "counts"], "write NAME:TARGET"),
        (["--export", "counts:x", "--set", "counts.wort=a"], "no setting 'wort'"),
    ],
)
def test_what_cannot_be_exported_is_refused_before_anything_is_read(
    folder: Path, words: list[str], said: str
) -> None:
    done = harvested(folder, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (folder / "out").exists()


def test_a_recipe_names_exports(folder: Path) -> None:
    done = harvested(folder, "--export", "counts:counts.json", "--export", "counts:other.json",
                     "--print-config")  # fmt: skip
    (folder / "r.toml").write_text(done.stdout)
    recipe = harvest.Recipe.load(folder / "r.toml")
    assert recipe.export == ["counts:counts.json", "counts:other.json"]
    assert harvest_here(*PLUGIN, "run", "r.toml", "-q", cwd=folder).returncode == 0
    assert (folder / "other.json").read_text() == (folder / "counts.json").read_text()
    # and what is no list of texts is an error
    (folder / "r.toml").write_text("[run]\nexport = [3]\n")
    with pytest.raises(harvest.ConfigError, match="not a list of texts"):
        harvest.Recipe.load(folder / "r.toml")


def test_a_password_of_an_address_is_shown_and_kept_nowhere(folder: Path) -> None:
    address = "counts://ann:hush-hush@nowhere/x?sslpassword=hush-hush&mode=a"
    shown = harvested(folder, "--export", address, "--print-config")
    assert "ann:***@nowhere" in shown.stdout
    done = harvested(folder, "--export", address)
    assert done.returncode == 5
    assert "counts://ann:***@nowhere/x?sslpassword=***&mode=a" in done.stderr
    kept = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert "hush-hush" not in shown.stdout + done.stdout + done.stderr
    assert b"hush-hush" not in kept


def test_nothing_is_exported_of_a_dry_run(folder: Path) -> None:
    assert harvested(folder, "--export", "counts:counts.json", "--dry-run").returncode == 0
    assert not (folder / "counts.json").exists()


def test_a_watch_exports_what_it_commits_and_tries_again(folder: Path) -> None:
    pytest.importorskip("harvest_watch")
    # given a target that can be written only later
    line = [sys.executable, "-m", "harvest", *PLUGIN, "watch", *PLACES]
    line += ["--export", "counts:later/c.json", "--every", "0.2", "--settle", "0"]
    line += ["--until-idle", "4"]
    with subprocess.Popen(line, cwd=folder, stderr=subprocess.PIPE, text=True) as watch:
        assert watch.stderr is not None
        while "not exported" not in watch.stderr.readline():
            assert watch.poll() is None
        (folder / "later").mkdir()
        said = watch.stderr.read()
    assert "the exports are up to date again" in said
    assert said.count("not exported") == 0
    assert watch.returncode == 0
    assert json.loads((folder / "later" / "c.json").read_text())["rows"] == 2

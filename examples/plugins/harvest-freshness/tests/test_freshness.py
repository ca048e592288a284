"""The listener: what it writes after a commit, and that it never harms one."""

import re
from pathlib import Path

import pytest

import harvest


@harvest.record("parcel.sent", layer="job", level="job")
class Parcel(harvest.Record):
    """A parcel that was sent."""

    label: str = harvest.field(doc="What is written on it.")


class Parcels(harvest.Source):
    """Parcels, a line each; a line ``?`` cannot be read."""

    name, record_types = "parcels", (Parcel,)

    def read(self, partition, ctx):
        for number, line in enumerate(partition.path.read_text().splitlines(), 1):
            if line == "?":
                ctx.reject(line, "no label", position=number)
            else:
                yield Parcel(label=line)


@pytest.fixture
def harvested(tmp_path: Path):
    """Harvest some lines; gives the result."""

    def run(*lines: str) -> harvest.RunResult:
        (tmp_path / "list").write_text("".join(f"{line}\n" for line in lines))
        return harvest.run(Parcels(str(tmp_path / "list")), f"parquet:{tmp_path / 'out'}")

    return run


def metrics(folder: Path) -> dict[str, float]:
    (path,) = folder.iterdir()
    lines = [re.fullmatch(r"(\w+)\{.*\} (\d+)", line) for line in path.read_text().splitlines()]
    return {line[1]: int(line[2]) for line in lines if line}


def test_each_commit_replaces_what_is_said_of_the_dataset(harvested, tmp_path, monkeypatch):
    (tmp_path / "metrics").mkdir()
    monkeypatch.setenv("HARVEST_FRESHNESS", str(tmp_path / "metrics"))

    harvested("one", "?")
    first = metrics(tmp_path / "metrics")
    assert (first["harvest_rows"], first["harvest_rejects"]) == (1, 1)

    harvested("one", "two", "three")
    then = metrics(tmp_path / "metrics")
    assert (then["harvest_rows"], then["harvest_rejects"]) == (3, 0)
    assert then["harvest_committed_timestamp_seconds"] > 1_700_000_000


def test_a_folder_that_is_not_there_is_a_remark(harvested, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HARVEST_FRESHNESS", str(tmp_path / "nowhere"))

    result = harvested("one")

    assert result.account.written == 1
    assert "plugin 'freshness' failed to hear of the commit" in capsys.readouterr().err


def test_without_its_variable_it_does_nothing(harvested, tmp_path, monkeypatch):
    monkeypatch.delenv("HARVEST_FRESHNESS", raising=False)

    harvested("one")

    assert {path.name for path in tmp_path.iterdir()} == {"list", "out"}

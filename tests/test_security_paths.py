"""Nothing leads out of a sink: no name of a type, of a partition, in a manifest, and no link."""

import sys
from pathlib import Path

import pytest
from datasets import plugins_with

import harvest
from harvest.plugins.registry import PluginManager

NAMES = (
    "../../outside", "/etc/outside", "..", ".", "", "a/../../../outside", "nul\0byte", "a\nb",
    "C:\\outside", "~/outside", "x" * 5_000, "\x1b[2J", "-rf", "con", "\udcff", "_harvest/manifest",
)  # fmt: skip

HOSTILE = '''
import harvest

@harvest.record("hostile.row", layer="workflow", level="client")
class Row(harvest.Record):
    """A row."""
    text: str = harvest.field(doc="A text.")

class Hostile(harvest.Source):
    """Partitions of hostile names."""
    name, record_types = "hostile", (Row,)
    def plan(self):
        for name in {names!r}:
            yield harvest.Partition(id=name, origin=name, fingerprint="1")
    def read(self, partition, ctx):
        ctx.reject(partition.id, partition.id, origin=partition.origin)
        ctx.note(partition.id)
        yield Row(text="x", origin=partition.origin.encode("utf-8", "replace").decode())
'''


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PluginManager:
    """A manager that knows the sinks and a source with hostile names."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "hostile_names.py").write_text(HOSTILE.format(names=NAMES))
    monkeypatch.syspath_prepend(tmp_path / "modules")
    monkeypatch.delitem(sys.modules, "hostile_names", raising=False)
    sinks = {name: f"harvest_{name}.plugin" for name in ("jsonl", "parquet")}
    return plugins_with(hostile="hostile_names:Hostile", **sinks)


@pytest.mark.slow
@pytest.mark.parametrize("sink", ["parquet:{}/out", "jsonl:{}/out", "jsonl:{}/out.jsonl"])
def test_names_of_partitions_stay_inside_the_sink(
    tmp_path: Path, plugins: PluginManager, sink: str
) -> None:
    # given a folder of its own for the sink, below one that must stay as it is
    home = tmp_path / "home"
    home.mkdir()

    result = harvest.run("hostile:x", sink.format(home), plugins=plugins, workers=1)

    # then all rows are there, and every file lies in the sink's place under a plain name
    assert result.account.written == len(NAMES)
    assert result.account.rejected == len(NAMES)
    assert {path.name for path in tmp_path.iterdir()} == {"home", "modules"}
    made = [path.relative_to(home) for path in home.rglob("*")]
    assert {path.parts[0] for path in made} <= {"out", "out.jsonl", "out.jsonl._harvest"}
    assert all(part.isascii() and part.isprintable() for path in made for part in path.parts)
    assert all(len(part) < 200 for path in made for part in path.parts)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder of somebody's, with a file in it and one below it."""
    folder = tmp_path / "elsewhere"
    (folder / "below").mkdir(parents=True)
    (folder / "precious").write_text("mine")
    (folder / "below" / "precious").write_text("mine")
    return folder


@pytest.mark.parametrize("sink", ["parquet", "jsonl"])
@pytest.mark.parametrize(
    "link",
    ["distiller.job", "_harvest", "_harvest/staging", "_harvest/rejects", "_harvest/runs",
     "_harvest/history", "_harvest/lock"],
)  # fmt: skip
def test_a_planted_link_is_refused(tmp_path: Path, elsewhere: Path, sink: str, link: str) -> None:
    # given a dataset's directory in which somebody has put a link to another place
    (tmp_path / "128_128.csv").write_text("id,slurm_id,elapsed\n1,2,00:00:01\n")
    planted = tmp_path / "out" / link
    planted.parent.mkdir(parents=True)
    planted.symlink_to(elsewhere / "precious" if link.endswith("lock") else elsewhere)

    with pytest.raises(harvest.HarvestError, match="symbolic link"):
        harvest.run(f"distiller:{tmp_path / '128_128.csv'}", f"{sink}:{tmp_path / 'out'}")

    assert sorted(p.name for p in elsewhere.rglob("*")) == ["below", "precious", "precious"]
    assert (elsewhere / "precious").read_text() == "mine"

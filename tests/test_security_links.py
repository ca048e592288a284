"""Links planted in a dataset's directory lead no writing and no removing elsewhere."""

from pathlib import Path

import pytest

import harvest


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

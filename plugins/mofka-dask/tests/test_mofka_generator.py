"""The generator of big runs: what it says it wrote is what is read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from harvest import collect
from harvest_mofka_dask.source import MofkaDaskSource

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "gen_mofka_dask.py"


def generate(out: Path, seed: int) -> dict[str, int]:
    command = [sys.executable, str(SCRIPT), "--rows", "3000", "--seed", str(seed)]
    subprocess.run([*command, "--out", str(out)], check=True, capture_output=True)
    return json.loads((out / "manifest.json").read_text())


@pytest.mark.skipif(not SCRIPT.is_file(), reason="no benchmarks folder beside this checkout")
def test_a_generated_run_gives_just_the_rows_of_its_manifest(tmp_path):
    manifest = generate(tmp_path, 7)
    found = collect(MofkaDaskSource(str(tmp_path)))
    assert not found.rejects
    assert found.units == found.accounted
    rows = {name: table.num_rows for name, table in found.tables.items()}
    assert rows == {name: total for name, total in manifest.items() if name in rows}
    assert found.folded["repeated transfer"] == manifest["dask.transfer folded"]
    assert found.folded["continuation line"] == manifest["dask.log_event folded"]
    share = manifest["dask.transfer folded"] / manifest["dask.transfer rows read"]
    assert 0.35 < share < 0.5


@pytest.mark.slow
@pytest.mark.skipif(not SCRIPT.is_file(), reason="no benchmarks folder beside this checkout")
def test_the_same_seed_writes_the_same_files(tmp_path):
    generate(tmp_path / "a", 3)
    generate(tmp_path / "b", 3)
    for path in (tmp_path / "a").rglob("*"):
        if path.is_file():
            assert (
                path.read_bytes()
                == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes()
            )

"""Generated lists of every style and escape: totals equal those the generator kept."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import zstandard
from policy_lists import ESCAPES, STYLES, files, harvest

pytestmark = pytest.mark.slow

LINES = 1_200
# the generator does not encode SHOW of the style ncar, as ESCAPE '%/' would encode it
COMBINATIONS = [pair for pair in product(STYLES, ESCAPES) if pair != ("ncar", "slash")]
PACKED = {"plain": bytes, "gzip": gzip.compress, "zstd": zstandard.compress}


@pytest.fixture(scope="module")
def generated(
    shared_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], tuple[Path, dict[str, Any]]]:
    """A list of each style and escape, and its totals."""
    tool = shared_data.parent / "tools" / "gen_gpfs.py"
    folder = tmp_path_factory.mktemp("lists")
    made = {}
    for style, escape in COMBINATIONS:
        path = folder / f"{style}-{escape}.list"
        totals = folder / f"{style}-{escape}.json"
        options = ["--lines", str(LINES), "--style", style, "--escape", escape, "--odd", "0.1"]
        options += ["--dirs", "--manifest", str(totals), "-o", str(path)]
        subprocess.run([sys.executable, str(tool), *options], check=True, capture_output=True)
        made[style, escape] = (path, json.loads(totals.read_text()))
    return made


def totals(rows: list[dict[str, Any]], style: str) -> dict[str, Any]:
    """The totals that the generator keeps, of rows that were read."""
    listed = [one for one in rows if one["kind"] != "directory"]
    assert all(one["kind"] == "file" for one in listed)
    bytes_of: Counter[str] = Counter()
    for one in listed:
        bytes_of[str(one["uid"])] += one["size_bytes"]
    count_of = Counter(str(one["uid"]) for one in listed)
    found = {
        "rows": len(rows),
        "files": len(listed),
        "dirs": len(rows) - len(listed),
        "bytes": sum(one["size_bytes"] for one in listed),
        "uid": {uid: [count_of[uid], bytes_of[uid]] for uid in count_of},
    }
    if style != "cdm":
        found["kballoc"] = sum(one["allocated_bytes"] for one in listed) // 1024
    return found


@pytest.mark.parametrize(("style", "escape"), COMBINATIONS)
def test_totals_are_the_generators(generated: Any, tmp_path: Path, style: str, escape: str) -> None:
    path, kept = generated[style, escape]
    if style == "cdm":
        kept = {name: value for name, value in kept.items() if name != "kballoc"}
    whole: list[Any] = []
    for parts in (1, 2, 7):
        found = harvest(path, partition_bytes=-(-path.stat().st_size // parts))
        rows = files(found)
        assert not found.rejects
        assert len(found.partitions) == parts
        assert totals(rows, style) == kept
        # the same rows at the same lines, however the list is divided
        whole = whole or rows
        assert rows == whole
    for name, pack in PACKED.items():
        packed = tmp_path / name
        packed.write_bytes(pack(path.read_bytes()))
        rows = files(harvest(packed, scan_time=whole[0]["scan_time"]))
        for one in rows:
            one["origin"] = str(path)
        assert rows == whole

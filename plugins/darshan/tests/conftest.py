"""Fixtures over logs written by hand; helpers beside the tests can be imported by their names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from darshan_logs import LogWriter

import harvest
from harvest import collect
from harvest_darshan.source import DarshanSource


@pytest.fixture
def opened(tmp_path: Path) -> Any:
    """A dataset of logs, each given by its name below the run and what the writer takes."""

    def build(*logs: tuple[str, dict[str, Any]]) -> Any:
        for name, given in logs:
            path = tmp_path / "runs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(
                LogWriter(**{"names": [(7, "/scratch/x"), (9, "/scratch/y")], **given}).build()
            )
        out = tmp_path / "out"
        harvest.run(f"darshan:{tmp_path / 'runs'}", f"parquet:{out}", workers=1)
        return harvest.open(out)

    return build


@pytest.fixture
def harvest_bytes(tmp_path: Path) -> Callable[..., Any]:
    """Harvest a log given as bytes."""

    def run(
        data: bytes, name: str = "u_a.out_id4711-815_11-14-1-2_1.darshan", **config: Any
    ) -> Any:
        path = tmp_path / name
        path.write_bytes(data)
        return collect(DarshanSource(str(path), DarshanSource.Config(**config)))

    return run

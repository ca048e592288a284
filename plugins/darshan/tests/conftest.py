"""Fixtures over logs written by hand; helpers beside the tests can be imported by their names."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from darshan_logs import dataset_of

from harvest import collect
from harvest_darshan.source import DarshanSource


@pytest.fixture
def opened(tmp_path: Path) -> Any:
    """Builds a dataset of logs, as ``dataset_of`` takes them."""
    return partial(dataset_of, tmp_path)


@pytest.fixture
def harvest_bytes(tmp_path: Path) -> Callable[..., Any]:
    """Harvest a log given as bytes."""

    def run(
        data: bytes, name: str = "u_a.out_id4711-815_11-14-1-2_1.darshan", **config: Any
    ) -> Any:
        path = tmp_path / name
        path.write_bytes(data)
        found = collect(DarshanSource(str(path), DarshanSource.Config(**config)))
        assert found.units == found.accounted
        return found

    return run

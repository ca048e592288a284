"""Runs that several modules look at; helpers beside the tests can be imported by their names."""

import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from dask_rows import harvested_run


@pytest.fixture(scope="session")
def run_of(tmp_path_factory: Any) -> Callable[[str], Any]:
    """Gives one of RUNS as a dataset, which is harvested once."""
    return cache(partial(harvested_run, tmp_path_factory))

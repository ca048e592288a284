"""One dataset of drawn things and one server of it, for all tests that only ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Server, serving, things


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 things of two files, with a reject."""
    return things(tmp_path_factory.mktemp("served"), "200 1\nbad", "100 2")


@pytest.fixture(scope="session")
def server(dataset: Path) -> Iterator[Server]:
    """A server of it, called ``out``."""
    with serving(dataset) as running:
        yield running

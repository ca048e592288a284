"""One dataset of drawn things and one server of it, for all tests that only ask."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from serving import PLUGIN, Server, serving, things

import harvest
from harvest.plugins import PluginManager
from harvest_serve.engine.scratch import scratch
from harvest_serve.settings import Given, GivenDataset
from harvest_serve.state import Snapshot


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 things of two files, with a reject."""
    return things(tmp_path_factory.mktemp("served"), "200 1\nbad", "100 2")


@pytest.fixture(scope="session")
def server(dataset: Path) -> Iterator[Server]:
    """A server of it, called ``out``."""
    with serving(dataset) as running:
        yield running


@contextmanager
def opened_as_served(location: Path) -> Iterator[Snapshot]:
    """A dataset as a server has it, in this process."""
    known = PluginManager()
    known.add_file(PLUGIN)
    with scratch() as directory:
        dataset = GivenDataset.of(harvest.open(location, plugins=known), Given({}))
        yield Snapshot("out", location, "out", dataset, directory)


@pytest.fixture(scope="session")
def opened():
    return opened_as_served


@pytest.fixture(scope="session")
def snapshot(dataset: Path) -> Iterator[Snapshot]:
    """The dataset, in this process."""
    with opened_as_served(dataset) as found:
        yield found

"""The engine futures: what all engines promise, and what it does when workers die for ever."""

import pytest
from harvest_futures.engine import FuturesEngine

import harvest
from harvest_testing import EngineConformance


class TestFutures(EngineConformance):
    """The conformance kit."""

    engine = FuturesEngine


def test_a_setting_that_it_has_not_is_named() -> None:
    with pytest.raises(harvest.ConfigError, match="has no setting 'retry'; did you mean 'retries'"):
        FuturesEngine(retry=1)

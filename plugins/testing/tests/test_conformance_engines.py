"""The conformance kit for engines: the one of this machine passes, and planted faults are found."""

from __future__ import annotations

import pytest
from faulty_engines import FAULTS

from harvest.engines.local import LocalEngine
from harvest_testing import BrokenPromise, EngineConformance


@pytest.mark.slow
class TestLocal(EngineConformance):
    engine = LocalEngine


@pytest.mark.slow
class TestThisProcess(EngineConformance):
    """The engine reads where the run is."""

    engine = LocalEngine
    workers = 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "test", "seen"), FAULTS, ids=[engine.name for engine, *_ in FAULTS]
)
def test_a_planted_fault_is_found_by_its_promise(engine, test, seen, tmp_path):
    limit_s = 15 if engine.name == "patient" else 60  # it waits until it is stopped
    kit = type("Kit", (EngineConformance,), {"engine": engine, "limit_s": limit_s})()

    with pytest.raises(BrokenPromise, match=seen):
        getattr(kit, test)(tmp_path)

"""Fixtures shared by all tests."""

import os
import sys
from collections import Counter
from collections.abc import Hashable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from harvest.plugins.registry import PluginManager

ROOT = Path(__file__).resolve().parent
SUPPORT = ROOT / "tests" / "support"

sys.path.append(str(ROOT))  # for docs_reference
# worker processes import the demo plugin too
sys.path.insert(0, str(SUPPORT))
os.environ["PYTHONPATH"] = os.pathsep.join(
    p for p in (str(SUPPORT), os.environ.get("PYTHONPATH", "")) if p
)
# an assertion in them that fails shows its values, as in a test
pytest.register_assert_rewrite(*(path.stem for path in SUPPORT.glob("*.py")))

if "PYTEST_XDIST_WORKER" in os.environ:
    # one of several processes that test: more threads than cores make each of them slower
    os.environ.setdefault("POLARS_MAX_THREADS", "1")

# the tests start hundreds of processes; what these compile is kept
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

from night import NIGHT  # noqa: E402 - of the folder above

# by day the same cases on every run, at night new ones; no test judges by the clock: beside others,
# on a busy machine, it says nothing
settings.register_profile(
    "harvest",
    max_examples=200 if NIGHT else 10,
    derandomize=not NIGHT,
    database=None,
    print_blob=NIGHT,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("harvest")


LONG_TESTS_OF_THE_KIT = {
    "test_a_damaged_line_costs_itself_alone",
    "test_a_lost_worker_costs_no_row",
    "test_another_process_gives_the_same",
    "test_batch_size_does_not_matter",
    "test_commits_leave_nothing_behind",
    "test_corrupt_input_becomes_rejects",
    "test_inputs_are_complete",
    "test_interrupts_pass",
    "test_names_of_any_bytes",
    "test_nothing_is_left_behind",
    "test_reasons_are_declared",
    "test_small_partitions_are_like_others",
    "test_the_dataset_is_that_of_the_engine_local",
    "test_unreadable_input_costs_itself_alone",
    "test_what_stops_a_bundle_stops_the_run",
    "test_workers_are_not_replaced_without_end",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the kit's long tests, as it asks its users for no mark; by day, pass few slow ones.

    Of a slow test's cases, parameters and classes that inherit it alike, these are one in sixteen.
    """
    passed, left = [], []
    seen: Counter[Hashable] = Counter()
    for item in items:
        if getattr(item, "originalname", item.name) in LONG_TESTS_OF_THE_KIT:
            item.add_marker(pytest.mark.slow)
        slow = list(item.iter_markers("slow"))
        of_the_night = any(mark.kwargs.get("night") for mark in slow)
        test = getattr(item, "function", item)
        chosen = not slow or (not of_the_night and seen[test] % 16 == 0)
        seen[test] += bool(slow and not of_the_night)
        (passed if NIGHT or chosen else left).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = passed


@pytest.fixture(scope="session", autouse=True)
def no_wait_for_the_disk() -> Iterator[None]:
    """Flush nothing in this process: it waits, and no test cuts the power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real samples that lies beside a checkout on some machines."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real samples here: {folder} is absent")
    return folder


@pytest.fixture
def demo_plugins() -> PluginManager:
    """A manager that knows the core and the demo plugin alone."""
    return PluginManager(
        [
            EntryPoint("core", "harvest.builtin.plugin", "harvest"),
            EntryPoint("demo", "harvest_demo", "harvest"),
        ],
        disabled="",
    )

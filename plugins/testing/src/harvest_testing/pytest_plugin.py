"""The kit in pytest: failures in words.

Every pytest run with this package installed imports it, so it imports neither pyarrow nor numpy.
A promise that is broken is shown as its author wants to read it: what was promised, what was seen,
what to do; not as the kit's own code.
"""

from __future__ import annotations

import traceback
from collections.abc import Generator

import pytest

from harvest import HarvestError

from .promise import BrokenPromise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show a broken promise as its text, and below it what the plugin raised, if anything."""
    report = yield
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, BrokenPromise) and report.failed:
        report.longrepr = str(error)
        if error.__cause__ is not None and not isinstance(error.__cause__, HarvestError):
            report.longrepr += "\n\n" + "".join(traceback.format_exception(error.__cause__))
    return report

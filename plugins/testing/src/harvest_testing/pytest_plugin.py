"""The kit's plugin for pytest, which shows a broken promise as text instead of the kit's code.

The text says what was promised, what was seen, and what the plugin's author can do. Every pytest
run with this package installed imports this module, so it imports neither pyarrow nor numpy.
"""

import traceback
from collections.abc import Generator

import pytest

from harvest import HarvestError

from .promise import BrokenPromise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the text of a broken promise, then the traceback of the plugin's own error, if any."""
    report = yield
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, BrokenPromise) and report.failed:
        report.longrepr = str(error)
        if error.__cause__ is not None and not isinstance(error.__cause__, HarvestError):
            report.longrepr += "\n\n" + "".join(traceback.format_exception(error.__cause__))
    return report

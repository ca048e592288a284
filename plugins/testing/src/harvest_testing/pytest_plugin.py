"""The kit in pytest: fixtures, an option, and failures in words.

Every pytest run with this package installed imports it, so it imports neither pyarrow nor numpy;
``harvest_testing`` brings what a fixture needs when it is used.

``harvest_collect`` reads a location with a source, checks that the account adds up and gives what
was found.  ``harvest_golden`` compares what was found with a file, which
``--harvest-update-golden`` writes anew.  A promise that is broken is shown as its author wants to
read it: what was promised, what was seen, what to do; not as the kit's own code.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

import harvest
import harvest_testing
from harvest import HarvestError

from .promise import BrokenPromise, require

if TYPE_CHECKING:
    from harvest import Collected, Source

__all__ = ["Collect", "Golden", "harvest_collect", "harvest_golden"]

Collect: TypeAlias = "Callable[..., Collected]"
Golden: TypeAlias = "Callable[..., None]"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes golden files."""
    parser.getgroup("harvest").addoption(
        "--harvest-update-golden",
        action="store_true",
        help="write golden files anew instead of comparing with them",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Take up the option for golden files, for tests that use no fixture."""
    if config.getoption("--harvest-update-golden"):
        harvest_testing.update_golden()


@pytest.fixture
def harvest_collect() -> Collect:
    """``harvest_collect(Source, location, **settings)``: all that is found there."""

    def read(cls: type[Source], location: str | os.PathLike[str], **settings: Any) -> Collected:
        found = harvest.collect(cls.configured(location, **settings))
        require(
            found.units is None or found.units == found.accounted,
            f"{found.units} units read, {found.accounted} accounted for",
            "see that each unit ends as a row, or in ctx.reject, ctx.filtered or ctx.folded",
        )
        return found

    return read


@pytest.fixture
def harvest_golden(request: pytest.FixtureRequest) -> Golden:
    """``harvest_golden(found, Source, root=...)``: compare with ``golden/<test>.jsonl``."""

    def compare(
        found: Collected, cls: type[Source], *, root: Path | None = None, path: Path | None = None
    ) -> None:
        name = "".join(c if c.isalnum() or c in "-_." else "_" for c in request.node.name)
        target = path or request.path.parent / "golden" / f"{name}.jsonl"
        harvest_testing.check_golden(target, found, cls.record_types, root=root)

    return compare


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

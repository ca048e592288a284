"""The view and the report keep what all views and reports promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from compared_runs import harvested, slowed, write

from harvest_testing import ReportConformance, ViewConformance


def dataset(self: Any, directory: Path, inputs: int) -> Any:
    """Two runs; with a second input, the later one has another kind of tasks."""
    write(directory / "R1")
    later = slowed("sum")
    write(directory / "R2", {**later, "plot": [0.5]} if inputs > 1 else later, since=60.0)
    return harvested(directory)


EXAMPLES = {"runs": "R2,R1", "before": "R2", "after": "R1"}


@pytest.mark.slow(night=True)  # a comparison is of two runs, and the kit asks for very many
class TestView(ViewConformance):
    view = "dask.compare"
    key = ("part", "name", "measure")
    examples: ClassVar = {**EXAMPLES, "equal": "true"}
    without_effect: ClassVar = {"other": "it names a place that a test makes"}
    null_says: ClassVar = {
        "dask.worker.action": "told by the stimulus, which an addition has not",
        "dask.transfer.requestor": "a client received it",
    }
    dataset = dataset

    def test_rows_are_neither_lost_nor_doubled(self, tmp_path: Path) -> None:
        """A comparison is of two inputs: over each alone there is none."""
        rows = self.two(tmp_path).view(self.view).select(self.key).collect()
        assert rows.height == rows.n_unique() > 0


@pytest.mark.slow(night=True)  # a comparison is of two runs, and the kit asks for very many
class TestReport(ReportConformance):
    report = "dask.compare"
    examples: ClassVar = {**EXAMPLES, "top": "1"}
    without_effect: ClassVar = {"other": "it names a place that a test makes"}
    dataset = dataset

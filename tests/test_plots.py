"""Pictures of the plugins' reports can be read, whatever they show."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest

import harvest

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
from pictures import SPANS, flaws  # noqa: E402 - it draws

CHOSEN = {"dask.run": {"run": "mofka-dask"}, "gpfs.summary": {"scan": "all"}}
"""Settings of reports that want them where a dataset holds several runs or scans."""


@pytest.mark.slow
def test_every_plot_of_every_report_can_be_read(everything):
    dataset = harvest.open(everything)
    names = [
        name
        for name, spec in dataset.plugins.reports.items()
        # a change is between two scans, of which these lists do not say the times
        if name != "gpfs.change" and any(kind in dataset for kind in spec.requires or dataset)
    ]

    found = {
        f"{name}: {plot.name}": flaws(plot)
        for name in names
        for plot in dataset.report(name, **CHOSEN.get(name, {})).plots
    }

    assert len(found) >= 8, "few reports have a plot"
    assert {name: flaw for name, flaw in found.items() if flaw} == {}


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [1, 6, 60])
@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
def test_waits_of_any_span_and_many_partitions_can_be_read(span, partitions):
    plots = pytest.importorskip("harvest_accounting.report.plots", reason="needs accounting")
    from harvest_accounting.calendar import Zone

    first = datetime(2025, 12, 31, 12, tzinfo=UTC)
    rows = pl.DataFrame(
        {
            "submit_time": [first + span * n / 120 for n in range(120)],
            "start_time": [None] * 120,
            "wait_s": [0.5 * 1.15**n for n in range(120)],
            "partition": [f"a long name of a partition {n % partitions}" for n in range(120)],
        },
        schema_overrides={
            "submit_time": pl.Datetime("us", "UTC"), "start_time": pl.Datetime("us", "UTC"),
        },
    )  # fmt: skip
    assert flaws(plots.scatter(rows, Zone("UTC", ""))) == []
    assert flaws(plots.histogram(rows)) == []

"""Pictures of the plugins' reports can be read, whatever they show."""

import pytest
from night import one_of_each

import harvest

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
from pictures import flaws  # noqa: E402 - it draws

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
        for name in one_of_each(names)
        for plot in dataset.report(name, **CHOSEN.get(name, {})).plots
    }

    assert len(found) >= 8, "few reports have a plot"
    assert {name: flaw for name, flaw in found.items() if flaw} == {}

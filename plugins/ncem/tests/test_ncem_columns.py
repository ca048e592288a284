"""What views declare about their columns, and what they claim, against plain Python."""

from pathlib import Path

import pytest

from harvest_ncem.plugin import harvest_views
from harvest_testing import faults_of_columns

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "ncem-study"
STUDY = {"study": str(EXAMPLE / "study.toml")}
WAYS: dict[str, list[dict[str, str]]] = {
    "ncem.offload": [STUDY, {"per": "range", **STUDY}],
    "ncem.file_transfer": [{"save_correction": "off", "max_elapsed": "1m", **STUDY}],
    "ncem.streaming": [STUDY],
    "ncem.clock_check": [{}, {"per": "receiver", "threshold": "1s"}],
    "ncem.failed_scans": [{"show": "all", **STUDY}],
    "ncem.outliers": [STUDY],
}
"""Settings of each view that together give all of its columns."""


def test_the_columns_of_every_view_are_looked_at():
    assert set(WAYS) == {view.name for view in harvest_views()}


@pytest.mark.slow
@pytest.mark.parametrize("view", WAYS)
def test_a_view_declares_the_columns_that_it_gives_and_no_others(example, view):
    assert faults_of_columns(example, view, WAYS[view]) == []


def test_fences_lie_one_and_a_half_distances_of_the_quartiles_beyond_them(example):
    for row in example.view("ncem.outliers", **STUDY).collect().iter_rows(named=True):
        low, high = row["first_quartile_s"], row["third_quartile_s"]
        assert row["low_fence_s"] == pytest.approx(low - 1.5 * (high - low))
        assert row["high_fence_s"] == pytest.approx(high + 1.5 * (high - low))
        assert 0 <= row["n_outliers"] <= row["n"]

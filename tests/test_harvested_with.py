"""A view learns with which settings the rows of a dataset were harvested."""

from pathlib import Path
from typing import Any

import pytest
from datasets import EACH_FORM, Small, dump

import harvest
from harvest import DatasetError, UsageError

ZURICH = {"slurm": {"timezone": "Europe/Zurich"}}
CHICAGO = {"slurm": {"timezone": "America/Chicago"}}


@pytest.fixture(params=EACH_FORM)
def small(tmp_path: Path, request: Any) -> Small:
    """A dump, harvested with a time zone."""
    small = Small(tmp_path, request.param).write(a=dump(1, 2))
    small.harvest(settings=ZURICH)
    return small


def zones(small: Small) -> list[Any]:
    return small.open().harvested_with("slurm", "timezone")


def test_a_setting_is_known_after_the_harvest_and_after_one_that_changes_nothing(
    small: Small,
) -> None:
    assert zones(small) == ["Europe/Zurich"]
    small.harvest(settings=ZURICH)
    assert zones(small) == ["Europe/Zurich"]


def test_a_setting_that_was_not_given_has_its_default(small: Small) -> None:
    assert small.open().harvested_with("slurm", "slice_days") == [7]
    small.harvest(settings={})
    assert zones(small) == [None]


def test_inputs_harvested_with_other_settings_are_told_apart(small: Small, tmp_path: Path) -> None:
    # given a second place, harvested into the same dataset with another zone
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_text(dump(3))
    harvest.run(f"slurm:{other}", small.sink, settings=CHICAGO, workers=1)
    assert zones(small) == ["Europe/Zurich", "America/Chicago"]
    # when the first is harvested with that zone too, then the zone before is of no row any more
    small.harvest(settings=CHICAGO)
    assert zones(small) == ["America/Chicago"]


def test_a_source_that_brought_no_rows_had_no_settings(small: Small) -> None:
    assert small.open().harvested_with("gpfs", "list_format") == []
    with pytest.raises(UsageError, match="nosuch"):
        small.open().harvested_with("nosuch", "timezone")


def test_a_missing_record_of_a_run_is_an_error_with_a_remedy(small: Small) -> None:
    (record,) = (small.state / "runs").iterdir()
    record.unlink()
    with pytest.raises(DatasetError, match="record of a run is missing"):
        zones(small)

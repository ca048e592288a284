"""Days, months and years are those of the zone that jobs were harvested with."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from reporting import page_of

import harvest
from harvest.dataset import Dataset
from harvest_report import Report, Table

ZURICH = ZoneInfo("Europe/Zurich")
# the last two hours of the old year and the first of the new one, by the clocks of Greenwich
SUBMITTED = [datetime(2023, 12, 31, 22, tzinfo=UTC) + timedelta(minutes=n) for n in range(180)]


def write(folder: Path, zone: ZoneInfo, first: int = 1) -> Path:
    """A dump of the cluster in this zone: times are local, as sacct prints them."""
    folder.mkdir()
    lines = ["JobID|User|State|Submit|Start|Elapsed|AllocCPUS"]
    for number, moment in enumerate(SUBMITTED, first):
        local, start = (
            (moment + timedelta(seconds=seconds)).astimezone(zone).strftime("%Y-%m-%dT%H:%M:%S")
            for seconds in (0, 30)
        )
        lines.append(f"{number}|ann|COMPLETED|{local}|{start}|01:00:00|2")
    (folder / "dump.txt").write_text("\n".join(lines) + "\n")
    return folder


def counted(zone: ZoneInfo, form: str) -> dict[str, int]:
    return dict(Counter(moment.astimezone(zone).strftime(form) for moment in SUBMITTED))


def table(report: Report, name: str) -> dict[str, int]:
    (found,) = (item for item in report.sections if isinstance(item, Table) and item.name == name)
    rows = found.data.select(found.data.columns[0], "jobs").rows()
    return {str(key): jobs for key, jobs in rows}


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    source = write(tmp_path / "in", ZURICH)
    settings = {"slurm": {"timezone": "Europe/Zurich"}}
    harvest.run(f"slurm:{source}", f"parquet:{tmp_path / 'out'}", settings=settings, workers=1)
    return harvest.open(tmp_path / "out")


@pytest.mark.parametrize(
    ("given", "zone"),
    [({}, ZURICH), ({"timezone": "UTC"}, ZoneInfo("UTC"))],
    ids=["of the harvest", "chosen"],
)
def test_new_years_jobs_are_counted_in_the_right_year(
    dataset: Dataset, given: dict[str, Any], zone: ZoneInfo
) -> None:
    days, months = counted(zone, "%Y-%m-%d"), counted(zone, "%Y-%m")
    assert len(months) == 2
    summary = page_of(dataset, "slurm.summary", **given)
    waits = page_of(dataset, "slurm.queue_time", **given)
    assert table(summary, "month") == months
    assert table(waits, "worst-days") == days
    for report in (summary, waits):
        assert report.title.endswith(f", {min(days)} to {max(days)}")
        assert f"zone {zone.key}" in report.text()
    for view in ("slurm.queue_time", "slurm.worst_days"):
        dates = dataset.view(view, **given).collect()["date"]
        assert {str(date) for date in dates} == set(days)


@pytest.mark.slow
def test_several_zones_are_said_and_days_are_those_of_utc(dataset: Dataset, tmp_path: Path) -> None:
    source = write(tmp_path / "chicago", ZoneInfo("America/Chicago"), first=1000)
    settings = {"slurm": {"timezone": "America/Chicago"}}
    harvest.run(f"slurm:{source}", f"parquet:{tmp_path / 'out'}", settings=settings, workers=1)
    both = harvest.open(tmp_path / "out")

    report = page_of(both, "slurm.summary")
    said = "several time zones (America/Chicago, Europe/Zurich): days and months are in UTC"
    assert said in " ".join(report.text().split())
    twice = {month: 2 * jobs for month, jobs in counted(ZoneInfo("UTC"), "%Y-%m").items()}
    assert table(report, "month") == twice
    # an explicit zone wins, and nothing is left to say
    chosen = page_of(both, "slurm.summary", timezone="Europe/Zurich")
    assert "several time zones" not in chosen.text()
    assert table(chosen, "month")["2024-01"] == 2 * counted(ZURICH, "%Y-%m")["2024-01"]

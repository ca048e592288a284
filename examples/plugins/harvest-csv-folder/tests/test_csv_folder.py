"""The exporter csv-folder: files that Python's own csv module reads, and what they mean."""

import csv
from datetime import UTC, datetime
from pathlib import Path

import pytest

import harvest


@harvest.record("parcel.sent", layer="job", level="job")
class Parcel(harvest.Record):
    """A parcel that was sent."""

    time: datetime = harvest.field(role="time", doc="When it was sent.")
    weight_kg: float | None = harvest.field(unit="kg", doc="How heavy it is.")
    labels: dict[str, str] | None = harvest.field(doc="What is written on it.")


class Parcels(harvest.Source):
    """Two parcels."""

    name, record_types = "parcels", (Parcel,)

    def read(self, partition, ctx):
        yield Parcel(time=datetime(2026, 3, 1, 10, tzinfo=UTC), weight_kg=1.5, labels={"a": "b"})
        yield Parcel(time=datetime(2026, 3, 2, 10, tzinfo=UTC), weight_kg=None, labels=None)


@pytest.fixture
def dataset(tmp_path: Path) -> harvest.Dataset:
    (tmp_path / "list").write_text("two")
    harvest.run(Parcels(str(tmp_path / "list")), f"parquet:{tmp_path / 'out'}")
    return harvest.open(tmp_path / "out")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_each_record_type_is_a_file_with_all_its_rows(dataset, tmp_path):
    dataset.export("csv-folder", tmp_path / "deposit")

    first, second = rows(tmp_path / "deposit" / "parcel.sent.csv")
    assert datetime.fromisoformat(first["time"]) == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert (first["weight_kg"], first["labels"]) == ("1.5", '{"a":"b"}')
    assert (second["weight_kg"], second["labels"]) == ("", "")


def test_the_dictionary_says_what_each_column_means(dataset, tmp_path):
    dataset.export("csv-folder", tmp_path / "deposit")

    meanings = {row["column"]: row for row in rows(tmp_path / "deposit" / "data-dictionary.csv")}
    assert list(meanings) == list(rows(tmp_path / "deposit" / "parcel.sent.csv")[0])
    assert meanings["weight_kg"]["unit"] == "kg"
    assert meanings["time"]["meaning"] == "When it was sent."
    assert meanings["time"]["type"] == "timestamp[us, tz=UTC]"


def test_a_record_type_that_is_not_there_is_refused(dataset, tmp_path):
    with pytest.raises(harvest.UsageError, match="the dataset has no"):
        dataset.export("csv-folder", tmp_path / "deposit", types="parcel.lost")
    assert not (tmp_path / "deposit").exists()

"""Records that people published, each with the row that its text says, written by hand.

``data/found.log`` has records of PBS Professional, OpenPBS and Torque from the tests and documents
of other projects; logins, hosts and some ids are replaced, long lists of hosts are shortened.
``data/found.txt`` has a line for each; ``-`` is null, and
of resources, the number of GPUs is given.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harvest_pbs.source import PbsConfig, PbsSource
from harvest_testing import collect

DATA = Path(__file__).parent / "data"
LINES = (DATA / "found.log").read_text().splitlines()
COLUMNS, *EXPECTED = [line.split("|") for line in (DATA / "found.txt").read_text().splitlines()]


def written(value: Any) -> str:
    """A value as ``found.txt`` has it: times as seconds since 1970, of resources the GPUs."""
    if isinstance(value, list):
        value = dict(value).get("gres/gpu")
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return str(int(value.astimezone(UTC).timestamp()))
    return str(int(value)) if isinstance(value, float) else str(value)


@pytest.mark.parametrize(("line", "expected"), [*zip(LINES, EXPECTED, strict=True)])
def test_a_published_record_is_the_row_that_its_text_says(
    tmp_path: Path, line: str, expected: list[str]
) -> None:
    log = tmp_path / "20250101"
    log.write_text(f"{line}\n")

    found = collect(PbsSource(str(log), PbsConfig(timezone="UTC")))

    assert not found.rejects
    (row,) = found.rows("pbs.job")
    said = [written(row[column]) for column in COLUMNS]
    assert said == expected
    (event,) = found.rows("pbs.event")
    assert (event["code"], event["id"]) == tuple(line.split(";")[1:3])


def test_values_with_blanks_that_pbs_did_not_quote_are_whole(tmp_path: Path) -> None:
    log = tmp_path / "20250101"
    log.write_text(
        "\n".join(line for line in LINES if ";E;16057." in line or ";1203." in line) + "\n"
    )

    found = collect(PbsSource(str(log), PbsConfig(timezone="UTC")))

    torque, hook = (dict(row["extra"]) for row in found.rows("pbs.job"))
    assert torque["Resource_Request_2.0"] == "-L"
    assert torque["tasks"] == " -L ".join(["1:lprocs=1:usecores:memory=4GB"] * 2)
    ended = "tr-ebu01:(gpu0:Tue Sep 03 23:27:26 2019)"
    assert hook["resources_used.GPU_endTime_per_node_gpu"] == ended
    assert hook["resources_used.GPU_energyConsumed"] == "27.84W"
    assert found.notes == [
        "in 2 records a value has blanks that PBS did not quote; what stands behind them is taken "
        "as part of it"
    ]

"""A study with known faults, written as the receivers and file systems leave it."""

import json
import os
from datetime import UTC, datetime, timedelta

BEGIN = datetime(2023, 10, 13, 16, 0, 0, 125_000, tzinfo=UTC)  # no clock of whole seconds
STUDY = """
[[range]]
size = "128x128"
method = "streaming"
scans = [101, 120]
[[range]]
size = "128x128"
method = "file_transfer"
scans = [201, 210]
"""
LOST, STOPPED, HOLLOW, OLD = (103, 104), 105, 106, 107


def took(place: int) -> float:
    """Seconds from the first receiver to the file, of the scan in that place."""
    return 6 + place / 8


def write_study(folder) -> None:
    """Ten of the twenty streamed scans, ten for file transfer, one of no method.

    Receiver 2 stamps Pacific time as UTC in all of them.
    """
    for place, scan in enumerate([*range(101, 111), *range(201, 211), 300]):
        begin = BEGIN + timedelta(minutes=place)
        for receiver in range(4):
            shown = begin + timedelta(milliseconds=10 * receiver)
            told = {
                "time": (shown - timedelta(hours=7 if receiver == 2 else 0)).isoformat(),
                "last_scan_number": scan,
                "progress": 40.0 if (scan, receiver) == (STOPPED, 1) else 100.0,
                "UUID": f"0a1b2c3d-0001-4000-8000-{scan:012d}",
            }
            name = f"4dstem_rec_status_{receiver}_scan_{scan}.json"
            (folder / name).write_text(json.dumps(told))
        if scan in LOST or scan in (202, 300):
            continue
        name = f"FOURD_231013_0900_{scan:05d}_{scan:05d}.h5"
        name = name if scan < 200 else f"data_scan{scan:010d}_module0.data"
        (folder / name).write_bytes(b"" if scan == HOLLOW else b"data")
        written = begin + timedelta(seconds=-50 if scan == OLD else took(place))
        os.utime(folder / name, (written.timestamp(), written.timestamp()))

"""A receiver's status; the input is the whole file."""

from random import Random

from harvest_ncem.config import NcemConfig
from harvest_ncem.source import NcemSource

from .. import seeds
from ..invariant import check_source, require, write
from ..mutate import NASTY, change_json
from . import Target

ZONES = ("America/Los_Angeles", "UTC", "Europe/Berlin")


def run(data: bytes) -> None:
    """One status is one row or one reject."""
    path = write("4dstem_rec_status_1_scan_7.json", data)
    config = NcemConfig(timezone=ZONES[len(data) % 3], clock_offset={"1": "-27ms"})
    found = check_source(NcemSource(str(path), config))
    require(found is not None and found.accounted == 1, "neither a row nor a reject")


def make_seeds() -> list[bytes]:
    """Statuses of the example study, and times of all forms."""
    some = [data for name, data in seeds.study().items() if name.endswith(".json")][:3]
    form = '{"time": "%s", "last_scan_number": 7, "progress": 50, "UUID": "u", "x": [1]}'
    times = ("2023-10-13 16:45:08+00:00+00:00", "2023-11-05T01:30:00", "2023-03-12T02:30:00", "")
    return [*some, *((form % time).encode() for time in times)]


def mutate(data: bytes, random: Random) -> bytes:
    """A change of a value; half of the time, of the time."""
    if random.random() < 0.3:
        time = random.choice(
            [*NASTY, "2023-10-13T16:45:08.123456789-07:00", "2023-10-13T24:00:00Z"]
        )
        data = data.replace(b"2023", time.encode("utf-8", "replace")[:30], 1)
    return change_json(data, random)


TARGET = Target(
    name="ncem_status",
    doc=__doc__,
    seeds=make_seeds,
    run=run,
    mutate=mutate,
    max_bytes=1024,
)

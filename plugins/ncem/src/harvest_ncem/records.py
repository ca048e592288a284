"""Record types of NCEM's 4D-STEM experiment.

Up to four *receivers*, each with its own clock, report a scan, and its data become *files*: raw
files at NCEM, a processed HDF5 file at NERSC.  Both types keep the time as it was recorded next to
the time as corrected by the declared clock offset.
"""

from datetime import datetime

import harvest
from harvest import Record, field

_UNDECIDED = (
    ", where it may be later: clocks that are set back, mostly by an hour, show times twice, and "
    "the first occurrence is given."
)
_OFFSET = "What was added to the clock's reading; 0 where no offset is declared."


@harvest.record("ncem.receiver_status", layer="workflow", level="worker")
class ReceiverStatus(Record):
    """A receiver reports a scan (``4dstem_rec_status_<receiver>_scan_<scan>.json``).

    The file is rewritten while the scan runs.  A scan that is taken again under the same number
    has another ``uuid``: both stay as rows when both are found.  In a CSV table each cell with a
    time is one row: ``position`` numbers the cells of the table's receiver columns from 1, and
    ``line`` says which line the cell was in.
    """

    time: datetime = field(
        role="time", doc="When the scan began for this receiver: recorded_time + clock_offset_s."
    )
    undecided_times: str | None = field(doc=f"time{_UNDECIDED}")
    scan_number: int = field(role="subject", doc="Number of the scan; 0 occurs and is bogus.")
    receiver: int = field(role="host", doc="Number of the receiver, 0 to 3.")
    uuid: str | None = field(doc="Id of the acquisition; null from CSV tables.")
    progress: float | None = field(unit="%", doc="How far the scan had got, as recorded.")
    last_scan_number: int | None = field(doc="Last scan that the receiver had seen, as recorded.")
    recorded_time: datetime | None = field(doc="The time that the receiver's clock showed.")
    clock_offset_s: float | None = field(unit="s", doc=_OFFSET)
    line: int | None = field(doc="Line in the CSV table, from 1; null from a JSON file.")


@harvest.record("ncem.data_file", layer="workflow", level="worker")
class DataFile(Record):
    """A file that a scan left: raw data or a log at NCEM, a processed HDF5 file at NERSC.

    From a directory, names and the file system's times count.  From the CSV tables come the
    modification time of HDF5 files (``distiller_id,scan_number,datetime``) and the time at which
    the last data file of a scan was written (``time_last_written``); they name no path.
    """

    scan_number: int = field(role="subject", doc="Number of the scan; 0 occurs and is bogus.")
    distiller_id: int | None = field(doc="Id of the scan in Distiller; 0 where it had none.")
    kind: str = field(doc="data, h5 or log.")
    path: str | None = field(doc="Absolute path; null from CSV tables.")
    size_bytes: int | None = field(unit="bytes", doc="Size of the file; null from CSV tables.")
    modify_time: datetime = field(
        role="time", doc="When the file was last written: recorded_time + clock_offset_s."
    )
    undecided_times: str | None = field(doc=f"modify_time{_UNDECIDED}")
    recorded_time: datetime | None = field(doc="The file's time on the clock of its site.")
    clock_offset_s: float | None = field(unit="s", doc=_OFFSET)
    module: int | None = field(doc="Detector module of a data file, where the name says it.")
    uuid: str | None = field(doc="Id of the acquisition, where the name of an HDF5 file ends so.")
    suffix: str | None = field(doc="What else the name ends with: centered for a derived file.")
    stamp: str | None = field(doc="YYMMDD_HHMM in the name of an HDF5 file, as written.")

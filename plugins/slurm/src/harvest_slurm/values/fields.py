"""The fields of sacct: what each holds, how its text is read, and the column it becomes.

A kind has a fast reader for a column whose texts have the common spelling. A slow one reads each
other distinct text, and only it decides what is an error (see ``convert``). The shape of a field
identifies it in a record that is in pieces (see ``rejoin``). Names are compared without case,
blanks, underscores and width suffix: ``JobName%30`` and ``Job Name`` are the same field.
"""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import Any, Final, TypeAlias

import attrs
import pyarrow as pa

from ..read.presets import PRESETS
from . import digits, scalars
from .ids import PATTERN

INT: Final = pa.int64()
FLOAT: Final = pa.float64()
STRING: Final = pa.string()
TIMESTAMP: Final = pa.timestamp("us", tz="UTC")


Reader: TypeAlias = Any  # a function, or None where nothing is read


@attrs.frozen
class Kind:
    """One kind of field.

    shape: regular expression of its text, empty or not.
    fast: reads the common spellings of a whole column. slow: reads one text of any spelling.
    types: suffix of the column's name -> type of the column.
    """

    shape: str
    fast: Reader
    slow: Reader
    types: dict[str, Any]


NOTHING: Final = "|".join(map(re.escape, scalars.NOTHING))
_NUMBER: Final = rf"(?:[\d.]*[KMGTPE?]?[cne]?|UNLIMITED|{NOTHING})"
_TIME: Final = rf"(?:[\dT:+\-.Z]*|\d+ \w+ [\d:]+|{NOTHING})"
_SPAN: Final = rf"(?:[\d:.\-]*|UNLIMITED|Partition_Limit|INVALID|{NOTHING})"
_STATE: Final = rf"(?:{'|'.join(scalars.STATES)})(?: by [^\n]+)?"
_LIST: Final = r"(?:[\w/:.\-]+=[^,\n]*(?:,[\w/:.\-]+=[^,\n]*)*)?"
_TEXT: Final = r"(?:[^\s][^\n]*)?"
_PAIR: Final = r"(?:\d+:\d+)?"

# fmt: off
KINDS: Final[dict[str, Kind]] = {
    "id":       Kind(PATTERN, None,           None,               {"": STRING}),  # see ids
    "text":     Kind(_TEXT,   None,           None,               {"": STRING}),
    "int":      Kind(_NUMBER, digits.whole,   scalars.integer,    {"": INT}),
    "count":    Kind(_NUMBER, digits.whole,   scalars.count,      {"": INT}),
    "memory":   Kind(_NUMBER, digits.decimal, scalars.memory,     {"": INT}),
    "reqmem":   Kind(_NUMBER, None,           scalars.reqmem,     {"": INT, "per": STRING}),
    "seconds":  Kind(_SPAN,   digits.seconds, scalars.seconds,    {"": FLOAT}),
    "minutes":  Kind(_SPAN,   None,           scalars.minutes,    {"": FLOAT}),
    "duration": Kind(_SPAN,   digits.clock,   scalars.duration,   {"": FLOAT}),
    "time":     Kind(_TIME,   digits.moment,  scalars.time,       {"": TIMESTAMP}),
    "state":    Kind(_STATE,  None,           scalars.state,      {"": STRING, "by": STRING}),
    "exit":     Kind(_PAIR,   None,           scalars.exit_code,  {"": INT, "signal": INT}),
    "tres":     Kind(_LIST,   digits.entries, scalars.resources,  {"": pa.map_(STRING, INT)}),
    "usage":    Kind(_LIST,   digits.entries, scalars.resources,  {"": pa.map_(STRING, FLOAT)}),
}
# fmt: on

FREE: Final = frozenset(
    ["JobName", "Comment", "AdminComment", "SystemComment", "SubmitLine", "WorkDir", "Constraints"]
)
"""Fields with the user's text, which may contain the delimiter or a line break."""


@attrs.frozen
class Field:
    """A field of sacct.

    name: in sacct's spelling. kind: the meaning of its text; see ``KINDS``.
    job, step: the columns it becomes; None if the record type has none, then it goes to ``extra``.
    """

    name: str
    kind: str
    job: str | None = None
    step: str | None = None


def _fields(records: Collection[str], kind: str, **columns: str) -> list[Field]:
    return [Field(name, kind, **dict.fromkeys(records, col)) for name, col in columns.items()]


_both, _job, _step = (partial(_fields, which) for which in (("job", "step"), ("job",), ("step",)))


# Where two fields feed one column, the first in this list wins; the other is kept in extra where
# it differs.  Fields that list AMOUNTS come after the fields whose gaps these fill.
FIELDS: Final[tuple[Field, ...]] = (
    Field("JobID", "id"),
    Field("JobIDRaw", "id"),
    *_both("text", JobName="name", Account="account", Cluster="cluster", NodeList="node_list"),
    *_both("text", SubmitLine="submit_line"),
    *_job("text", User="user", Group="group", Partition="partition", QOS="qos"),
    *_job("text", Reservation="reservation", Constraints="constraints", Reason="reason"),
    *_job("text", Flags="flags", WorkDir="work_dir", Comment="comment", WCKey="wckey"),
    *_job("text", AdminComment="admin_comment", SystemComment="system_comment"),
    *_job("text", Container="container"),
    *_step("text", Layout="layout", MinCPUNode="min_cpu_node", MaxRSSNode="max_rss_node"),
    *_both("state", State="state"),
    *_both("exit", ExitCode="exit_code"),
    *_job("exit", DerivedExitCode="derived_exit_code"),
    *_both("time", Submit="submit_time", Eligible="eligible_time"),
    *_both("time", Start="start_time", End="end_time"),
    *_both("duration", Elapsed="elapsed_s"),
    *_both("seconds", ElapsedRaw="elapsed_s"),
    *_both("duration", Suspended="suspended_s", CPUTime="cpu_time_s"),
    *_both("seconds", CPUTimeRAW="cpu_time_s"),
    *_both("duration", TotalCPU="total_cpu_s", UserCPU="user_cpu_s", SystemCPU="system_cpu_s"),
    *_job("duration", Timelimit="timelimit_s"),
    *_job("minutes", TimelimitRaw="timelimit_s"),
    *_job("duration", Planned="planned_s", Reserved="planned_s"),
    *_job("duration", PlannedCPU="planned_cpu_s", ResvCPU="planned_cpu_s"),
    *_job("seconds", PlannedCPURAW="planned_cpu_s", ResvCPURAW="planned_cpu_s"),
    *_step("duration", MinCPU="min_cpu_s", AveCPU="ave_cpu_s"),
    *_both("int", NNodes="nodes", AllocNodes="alloc_nodes", AllocCPUS="alloc_cpus"),
    *_both("tres", AllocTRES="alloc_tres"),
    *_both("int", NCPUS="alloc_cpus", ReqCPUS="req_cpus", ReqNodes="req_nodes"),
    *_job("int", Priority="priority", UID="uid", GID="gid"),
    *_job("int", Restarts="restarts"),
    *_both("int", DBIndex="db_index", ConsumedEnergyRaw="consumed_energy_j"),
    *_both("count", ConsumedEnergy="consumed_energy_j"),
    *_step("int", NTasks="ntasks", MinCPUTask="min_cpu_task", MaxRSSTask="max_rss_task"),
    *_job("reqmem", ReqMem="req_mem_bytes"),
    *_step("memory", MaxRSS="max_rss_bytes", AveRSS="ave_rss_bytes"),
    *_step("memory", MaxVMSize="max_vm_size_bytes", AveVMSize="ave_vm_size_bytes"),
    *_step("memory", MaxDiskRead="max_disk_read_bytes", MaxDiskWrite="max_disk_write_bytes"),
    *_step("memory", AveDiskRead="ave_disk_read_bytes", AveDiskWrite="ave_disk_write_bytes"),
    *_step("memory", MaxPages="max_pages", AvePages="ave_pages"),
    *_job("tres", ReqTRES="req_tres"),
    *_step("usage", TRESUsageInTot="usage_in_tot"),
    *_step("text", TRESUsageInAve="tres_usage_in_ave", TRESUsageInMax="tres_usage_in_max"),
    *_step("text", TRESUsageInMin="tres_usage_in_min", TRESUsageOutTot="tres_usage_out_tot"),
    *_step("text", TRESUsageOutAve="tres_usage_out_ave", TRESUsageOutMax="tres_usage_out_max"),
)

AMOUNTS: Final[dict[str, dict[str, str]]] = {
    field: dict(pair.split(":") for pair in pairs.split())
    for field, pairs in {
        "AllocTRES": "cpu:alloc_cpus node:alloc_nodes",
        "ReqTRES": "cpu:req_cpus node:req_nodes mem:req_mem_bytes",
        "TRESUsageInMax": "mem:max_rss_bytes vmem:max_vm_size_bytes pages:max_pages "
        "fs/disk:max_disk_read_bytes",
        "TRESUsageInAve": "mem:ave_rss_bytes vmem:ave_vm_size_bytes pages:ave_pages "
        "fs/disk:ave_disk_read_bytes cpu:ave_cpu_s",
        "TRESUsageInMin": "cpu:min_cpu_s",
        "TRESUsageOutMax": "fs/disk:max_disk_write_bytes",
        "TRESUsageOutAve": "fs/disk:ave_disk_write_bytes",
    }.items()
}
"""Amounts that fill the gaps of columns: by the field that lists them, resource -> column.

sacct prints the same numbers under both names. A requested amount does not replace an allocated
one, except for the CPUs of jobs that ran (see ``rows``).
"""

# Newer fields without a column; all others are in the orders that Slurm prints.
_NEWER: Final = [
    *("AllocGRES", "Extra", "ExtraInfo", "FailedNode", "JobComment", "Licenses", "QOSREQ"),
    *("SLUID", "SegmentSize", "StdErr", "StdIn", "StdOut", "ThreadsPerCore"),
]

_WIDTH = re.compile(r"%-?\d*$")


@lru_cache(maxsize=4096)  # one header is compared under many delimiters
def canonical(name: str) -> str:
    """The spelling under which names are compared."""
    return _WIDTH.sub("", name.strip()).replace(" ", "").replace("_", "").lower()


BY_NAME: Final[dict[str, Field]] = {canonical(item.name): item for item in FIELDS}
for _name in sorted({*_NEWER, *chain.from_iterable(PRESETS.values())}):
    BY_NAME.setdefault(canonical(_name), Field(_name, "text"))


def field_of(column: str) -> Field | None:
    """Return the field of a column, whose name may be numbered (``User#2``); None if unknown."""
    return BY_NAME.get(canonical(column.partition("#")[0]))


def is_field(name: str) -> bool:
    """Return whether sacct has a field of this name."""
    return canonical(name) in BY_NAME


def unique_names(header: Sequence[str]) -> list[str]:
    """Return column names of a header: in sacct's spelling, repeated ones numbered."""
    names: list[str] = []
    for name in header:
        known = BY_NAME.get(canonical(name))
        spelled = known.name if known else _WIDTH.sub("", name.strip())
        number = 2
        unique = spelled
        while unique in names:
            unique = f"{spelled}#{number}"
            number += 1
        names.append(unique)
    return names

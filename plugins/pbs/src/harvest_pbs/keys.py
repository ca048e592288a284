"""The keys of a record that have columns, and the columns into which a record is first read."""

from typing import Final

import pyarrow as pa

from harvest_toolkit.values import CLOCK, EPOCH, INTEGER, SIZE, TEXT, Kind

_KEYS: Final = {
    TEXT: """user group account project owner exec_host exec_vnode resvname resvID resvjobID
        jobname:name queue:partition array_indices:array_tasks Resource_List.select:select
        Resource_List.place:place Resource_List.nodes:node_spec""",
    EPOCH: """ctime:submit_time qtime:queue_time etime:eligible_time start:start_time
        end:end_time""",
    INTEGER: """Exit_status:exit_status run_count start_count total_execution_slots:slots
        Resource_List.nodect:nodect Resource_List.ncpus:ncpus Resource_List.ngpus:ngpus
        Resource_List.mpiprocs:mpiprocs""",
    SIZE: """Resource_List.mem:mem resources_used.mem:mem_used_bytes
        resources_used.vmem:vmem_used_bytes""",
    CLOCK: """Resource_List.walltime:timelimit_s resources_used.walltime:elapsed_s
        resources_used.cput:total_cpu_s eligible_time:eligible_s""",
}
"""By kind of value, the keys of a job's record; a column with another name follows the colon."""


def _known(kind: Kind, words: str) -> dict[str, tuple[str, Kind]]:
    pairs = (word.partition(":") for word in words.split())
    return {key: (column or key, kind) for key, _, column in pairs}


KNOWN: Final = {key: to for kind, words in _KEYS.items() for key, to in _known(kind, words).items()}
"""Key -> column, and the kind of its values."""

OF_EVENTS: Final = _known(TEXT, "user queue:partition requestor")
"""The same for records other than those of jobs."""

_ARROW: Final = {TEXT: pa.string(), EPOCH: pa.timestamp("us", tz="UTC"), CLOCK: pa.float64()}
_EXTRA: Final = pa.field("extra", pa.map_(pa.string(), pa.string()))

SCHEMA: Final = pa.schema(
    [*((column, _ARROW.get(kind, pa.int64())) for column, kind in KNOWN.values()), _EXTRA]
)
"""The columns of ``KNOWN``, and a map of the pairs without a column."""

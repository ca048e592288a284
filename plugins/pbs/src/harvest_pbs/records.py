"""Record types of PBS accounting: runs of jobs, and the records that the server wrote.

Columns have the names of ``slurm.job`` where they mean the same.  Times of jobs are seconds since
1970 in the log, and need no zone.  A value that is not of its column's kind stays in ``extra``
under PBS's own name, and the column is empty.
"""

from datetime import datetime

import harvest
from harvest import Record, field

_TRES = "as Slurm names them: cpu, mem in bytes, node, gres/gpu."


@harvest.record("pbs.job", layer="job", level="job")
class Job(Record):
    """One run of a job, from the last record that a log has of it.

    A record ``E`` (ended) repeats all that ``Q`` (queued) and ``S`` (started) said, so it alone
    makes the row; so does ``R`` (requeued), and each run of a requeued job is a row.  Of a run
    without an end in the same log, the row says ``pending`` or ``running``: the end, if any, is
    another row from the next day's log.  Runs are distinguished by ``cluster``, ``job_id`` and
    ``start_time``; of two rows of one run, the one with ``end_time`` is complete.  An array as a
    whole is a row only while it waits; its tasks are jobs of their own.
    """

    job_id: str = field(role="job", doc="Id as PBS writes it: 123.server, 123[4].server.")
    job_id_raw: int | None = field(doc="Number in the id; tasks of an array share it.")
    array_job_id: int | None = field(doc="Number of the job array of which it is a task.")
    array_task_id: int | None = field(doc="Index within the job array.")
    array_tasks: str | None = field(doc="Indices of an array that is one row: 0-99:2.")
    cluster: str | None = field(doc="Name of the server, as in the id.")
    name: str | None = field(role="subject", doc="Name of the job.")
    user: str | None = field(role="user", doc="Login under which it ran.")
    group: str | None = field(doc="Group under which it ran.")
    owner: str | None = field(doc="Login and host that submitted it; Torque and qstat alone.")
    account: str | None = field(doc="Account that is charged.")
    project: str | None = field(doc="Project; _pbs_project_default unless one was given.")
    partition: str | None = field(doc="Queue.")
    reservation: str | None = field(doc="Name of the reservation, else its id.")
    state: str | None = field(doc="State in lower case, in Slurm's words: completed, failed, ...")
    state_by: str | None = field(doc="Who deleted it: login and host.")
    reason: str | None = field(doc="Why the server aborted it; of qstat, the comment.")
    exit_status: int | None = field(doc="Exit status as PBS writes it.")
    exit_code: int | None = field(
        doc="Exit code of the batch script, 0 where a signal ended it; below 0, PBS's own code."
    )
    exit_signal: int | None = field(doc="Signal that ended it, 0 for none.")
    submit_time: datetime | None = field(doc="When it was submitted (ctime); the same in all runs.")
    queue_time: datetime | None = field(doc="When it came into its queue (qtime).")
    eligible_time: datetime | None = field(doc="When it could have started (etime).")
    start_time: datetime | None = field(role="time", doc="When it started.")
    end_time: datetime | None = field(role="end_time", doc="When it ended; empty while it runs.")
    elapsed_s: float | None = field(
        unit="s", doc="Time that it ran (resources_used.walltime), without suspensions."
    )
    eligible_s: float | None = field(
        unit="s", doc="Time that it waited for nothing but resources, in all runs (eligible_time)."
    )
    timelimit_s: float | None = field(unit="s", doc="Time limit (Resource_List.walltime).")
    req_nodes: int | None = field(
        doc="Chunks or nodes requested (nodect); several chunks may share a host."
    )
    alloc_nodes: int | None = field(doc="Hosts it ran on.")
    req_cpus: int | None = field(doc="CPUs requested (ncpus).")
    alloc_cpus: int | None = field(
        doc="CPUs allocated: of exec_vnode, else Torque's slots, else of exec_host."
    )
    req_procs: int | None = field(doc="MPI processes requested (mpiprocs).")
    req_mem_bytes: int | None = field(unit="bytes", doc="Memory requested, of the whole job.")
    req_tres: dict[str, int | None] | None = field(doc=f"Resources requested, {_TRES}")
    alloc_tres: dict[str, int | None] | None = field(doc=f"Resources allocated, {_TRES}")
    node_list: str | None = field(doc="Hosts it ran on, each once, with commas.")
    restarts: int | None = field(doc="How often it was started before this run.")
    cpu_time_s: float | None = field(unit="s", doc="CPU seconds allocated: elapsed times CPUs.")
    total_cpu_s: float | None = field(
        unit="s", doc="CPU seconds used by all its processes (resources_used.cput)."
    )
    mem_used_bytes: int | None = field(
        unit="bytes", doc="Resident memory of the whole job, at most; empty or 0 where not sampled."
    )
    vmem_used_bytes: int | None = field(unit="bytes", doc="Virtual memory, at most.")
    exec_host: str | None = field(doc="Hosts and slots as PBS writes them: n1/0*4+n2/0*4.")
    exec_vnode: str | None = field(doc="What each vnode gave: (n1:ncpus=4:mem=1kb)+(n2:ncpus=4).")
    select: str | None = field(doc="Chunks requested: 2:ncpus=64:ngpus=4+1:ncpus=8.")
    place: str | None = field(doc="How chunks were to be placed: scatter:excl.")
    node_spec: str | None = field(doc="Nodes requested in the older form: 2:ppn=8:gpus=2.")


@harvest.record("pbs.event", layer="job", level="scheduler")
class Event(Record):
    """One record of the log, of whatever kind.

    What the records ``Q``, ``E`` and ``R`` say is in ``pbs.job``; all that others say is here.
    """

    time: datetime = field(role="time", doc="When it was written, by the server's clock.")
    code: str = field(doc="Kind of record, PBS's letter: Q, S, E, ...")
    event: str | None = field(
        role="subject",
        doc="Kind of record in a word: queued, started, ...; null for other letters.",
    )
    id: str = field(doc="Id of the job or the reservation; license for licences.")
    job_id: str | None = field(role="job", doc="The id where it is a job's.")
    user: str | None = field(role="user", doc="Login of the job's owner.")
    partition: str | None = field(doc="Queue.")
    requestor: str | None = field(doc="Who asked for it: login and host.")
    message: str | None = field(doc="The text of a record that is not key=value.")

"""Record types of Slurm's accounting: jobs, and the steps that ran inside them.

Columns are sacct's fields in one spelling. If sacct prints a word instead of a number
(``UNLIMITED``, ``Partition_Limit``, ``INVALID``, ``16?``), the column is empty and ``extra`` keeps
the word under sacct's field name. If a dump lacks the field of a column, other fields with the same
meaning fill it; the plugin's README lists them in order.
"""

from datetime import datetime

import harvest
from harvest import Record, field

_UNDECIDED = (
    "Names of its ambiguous times: clocks that are set back show an hour twice. Where nothing "
    "decides between both, the first occurrence is given. Null without any."
)
_TRES = "mem in bytes; null for an amount that is marked as not set."


@harvest.record("slurm.job", layer="job", level="job")
class Job(Record):
    """One run of a job: an allocation as sacct lists it.

    A requeued job has one row per run, with the same ``job_id`` and different ``submit_time``.  A
    task of a job array and a component of a heterogeneous job are jobs of their own.
    """

    job_id: str = field(role="job", doc="Id as users see it: 123, 123_4, 123_[1-4%2], 123+0.")
    job_id_raw: int | None = field(
        doc="Number that the scheduler uses; unique for each array task."
    )
    array_job_id: int | None = field(doc="Id of the job array of which it is a task.")
    array_task_id: int | None = field(doc="Index within the job array.")
    array_tasks: str | None = field(doc="Indices of a pending array that is one row: 1-4%2.")
    het_job_id: int | None = field(doc="Id of the heterogeneous job of which it is a component.")
    het_offset: int | None = field(doc="Index of the component.")
    cluster: str | None = field(doc="Name of the cluster.")
    db_index: int | None = field(doc="Key of the row in Slurm's database.")
    name: str | None = field(role="subject", doc="Name of the job.")
    user: str | None = field(role="user", doc="Login of its owner.")
    group: str | None = field(doc="Group of its owner.")
    uid: int | None = field(doc="Numeric id of its owner.")
    gid: int | None = field(doc="Numeric id of its group.")
    account: str | None = field(doc="Account that is charged.")
    partition: str | None = field(doc="Partition in which it ran, or the list of those allowed.")
    qos: str | None = field(doc="Quality of service.")
    reservation: str | None = field(doc="Name of the reservation.")
    constraints: str | None = field(doc="Node features requested.")
    priority: int | None = field(doc="Priority when it was last scheduled.")
    state: str | None = field(doc="State in lower case: completed, failed, cancelled, timeout, ...")
    state_by: str | None = field(doc="Who cancelled it: a uid, or a login in JSON dumps.")
    reason: str | None = field(doc="Why it waited, if it waited.")
    flags: str | None = field(doc="How it was scheduled, as sacct prints it.")
    exit_code: int | None = field(doc="Exit code of the batch script or of salloc.")
    exit_signal: int | None = field(doc="Signal that ended it, 0 for none.")
    derived_exit_code: int | None = field(doc="Highest exit code of its steps.")
    derived_exit_signal: int | None = field(doc="Signal that belongs to derived_exit_code.")
    submit_time: datetime | None = field(doc="When it was submitted, or requeued.")
    eligible_time: datetime | None = field(doc="When it could have started.")
    start_time: datetime | None = field(role="time", doc="When it started.")
    end_time: datetime | None = field(role="end_time", doc="When it ended; empty while it runs.")
    undecided_times: str | None = field(doc=_UNDECIDED)
    elapsed_s: float | None = field(unit="s", doc="Time that it ran, without suspensions.")
    suspended_s: float | None = field(unit="s", doc="Time that it was suspended.")
    planned_s: float | None = field(
        unit="s", doc="Time from eligible to start (Planned, Reserved)."
    )
    planned_cpu_s: float | None = field(unit="s", doc="planned_s times CPUs (PlannedCPU, ResvCPU).")
    timelimit_s: float | None = field(
        unit="s", doc="Time limit; empty without one, with the word in extra."
    )
    nodes: int | None = field(doc="Nodes allocated, or requested while it waits (NNodes).")
    req_nodes: int | None = field(doc="Nodes requested.")
    alloc_nodes: int | None = field(doc="Nodes allocated.")
    req_cpus: int | None = field(doc="CPUs requested.")
    alloc_cpus: int | None = field(doc="CPUs allocated.")
    req_mem_bytes: int | None = field(
        unit="bytes", doc="Memory requested: per CPU or node as in req_mem_per, else in total."
    )
    req_mem_per: str | None = field(doc="cpu, node, or empty for the whole job.")
    req_tres: dict[str, int | None] | None = field(doc=f"Resources requested; {_TRES}")
    alloc_tres: dict[str, int | None] | None = field(doc=f"Resources allocated; {_TRES}")
    node_list: str | None = field(doc="Nodes it ran on, as Slurm's host list.")
    restarts: int | None = field(doc="How often it was restarted.")
    cpu_time_s: float | None = field(unit="s", doc="CPU seconds allocated: elapsed times CPUs.")
    total_cpu_s: float | None = field(unit="s", doc="CPU seconds used by all its steps.")
    user_cpu_s: float | None = field(unit="s", doc="CPU seconds used in user mode.")
    system_cpu_s: float | None = field(unit="s", doc="CPU seconds used in system mode.")
    consumed_energy_j: int | None = field(unit="J", doc="Energy consumed.")
    work_dir: str | None = field(doc="Working directory.")
    submit_line: str | None = field(doc="Command that submitted it.")
    comment: str | None = field(doc="The user's comment.")
    admin_comment: str | None = field(doc="The administrator's comment.")
    system_comment: str | None = field(doc="Comment set by a plugin of Slurm.")
    wckey: str | None = field(doc="Workload characterisation key.")
    container: str | None = field(doc="OCI container bundle.")


@harvest.record("slurm.step", layer="job", level="process")
class Step(Record):
    """One step of a job: its batch script, its external processes, or one ``srun``."""

    job_id: str = field(role="job", doc="Id of its job as users see it: 123, 123_4, 123+0.")
    job_id_raw: int | None = field(doc="Number of its job that the scheduler uses.")
    step_id: str = field(doc="batch, extern, interactive, or the number of the srun.")
    job_position: int | None = field(
        doc="Position of the row of its job in the same origin, which differs between the "
        "runs of a requeued job."
    )
    job_submit_time: datetime | None = field(doc="submit_time in the row of its job.")
    cluster: str | None = field(doc="Name of the cluster.")
    db_index: int | None = field(doc="Key of its job's row in Slurm's database.")
    name: str | None = field(role="subject", doc="Name of the step.")
    account: str | None = field(doc="Account that is charged.")
    state: str | None = field(doc="State in lower case.")
    state_by: str | None = field(doc="Who cancelled it: a uid, or a login in JSON dumps.")
    exit_code: int | None = field(doc="Exit code.")
    exit_signal: int | None = field(doc="Signal that ended it, 0 for none.")
    submit_time: datetime | None = field(doc="The step's start, as sacct prints it.")
    eligible_time: datetime | None = field(doc="The step's start, as sacct prints it.")
    start_time: datetime | None = field(role="time", doc="When it started.")
    end_time: datetime | None = field(role="end_time", doc="When it ended; empty while it runs.")
    undecided_times: str | None = field(doc=_UNDECIDED)
    elapsed_s: float | None = field(unit="s", doc="Time that it ran, without suspensions.")
    suspended_s: float | None = field(unit="s", doc="Time that it was suspended.")
    ntasks: int | None = field(doc="Tasks of the step.")
    layout: str | None = field(doc="How tasks were laid out on nodes.")
    nodes: int | None = field(doc="Nodes of the step.")
    req_nodes: int | None = field(doc="Nodes requested.")
    alloc_nodes: int | None = field(doc="Nodes allocated.")
    req_cpus: int | None = field(doc="CPUs requested.")
    alloc_cpus: int | None = field(doc="CPUs allocated.")
    node_list: str | None = field(doc="Nodes it ran on, as Slurm's host list.")
    cpu_time_s: float | None = field(unit="s", doc="CPU seconds allocated: elapsed times CPUs.")
    total_cpu_s: float | None = field(unit="s", doc="CPU seconds used.")
    user_cpu_s: float | None = field(unit="s", doc="CPU seconds used in user mode.")
    system_cpu_s: float | None = field(unit="s", doc="CPU seconds used in system mode.")
    ave_cpu_s: float | None = field(unit="s", doc="CPU seconds used, mean of its tasks.")
    min_cpu_s: float | None = field(unit="s", doc="CPU seconds used, minimum of its tasks.")
    min_cpu_node: str | None = field(doc="Node of the task with min_cpu_s.")
    min_cpu_task: int | None = field(doc="Number of the task with min_cpu_s.")
    max_rss_bytes: int | None = field(
        unit="bytes", doc="Resident memory, maximum of its tasks; empty where not sampled."
    )
    ave_rss_bytes: int | None = field(unit="bytes", doc="Resident memory, mean of its tasks.")
    max_rss_node: str | None = field(doc="Node of the task with max_rss_bytes.")
    max_rss_task: int | None = field(doc="Number of the task with max_rss_bytes.")
    max_vm_size_bytes: int | None = field(unit="bytes", doc="Virtual memory, maximum of its tasks.")
    ave_vm_size_bytes: int | None = field(unit="bytes", doc="Virtual memory, mean of its tasks.")
    max_pages: int | None = field(doc="Page faults, maximum of its tasks.")
    ave_pages: int | None = field(doc="Page faults, mean of its tasks.")
    max_disk_read_bytes: int | None = field(unit="bytes", doc="Bytes read, maximum of its tasks.")
    max_disk_write_bytes: int | None = field(
        unit="bytes", doc="Bytes written, maximum of its tasks."
    )
    ave_disk_read_bytes: int | None = field(unit="bytes", doc="Bytes read, mean of its tasks.")
    ave_disk_write_bytes: int | None = field(unit="bytes", doc="Bytes written, mean of its tasks.")
    consumed_energy_j: int | None = field(unit="J", doc="Energy consumed.")
    alloc_tres: dict[str, int | None] | None = field(doc=f"Resources allocated; {_TRES}")
    usage_in_tot: dict[str, float | None] | None = field(
        doc="Resources used by all tasks: cpu in seconds, mem, vmem and gpumem in bytes, gpuutil "
        "in percent, fs/disk in bytes read; null for an amount that is marked as not set."
    )
    tres_usage_in_ave: str | None = field(doc="TRESUsageInAve as sacct prints it.")
    tres_usage_in_max: str | None = field(doc="TRESUsageInMax as sacct prints it.")
    tres_usage_in_min: str | None = field(doc="TRESUsageInMin as sacct prints it.")
    tres_usage_out_tot: str | None = field(doc="TRESUsageOutTot as sacct prints it.")
    tres_usage_out_ave: str | None = field(doc="TRESUsageOutAve as sacct prints it.")
    tres_usage_out_max: str | None = field(doc="TRESUsageOutMax as sacct prints it.")
    submit_line: str | None = field(doc="The srun command.")

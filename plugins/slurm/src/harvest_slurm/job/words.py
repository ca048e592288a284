"""A job in words: the lines of Slurm's ``seff``, then values that seff does not print."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.layout import table_lines
from harvest_accounting.calendar import Zone
from harvest_accounting.job_runs import FAILED

from .find import Found, of_group

_UNKNOWN: Final = "unknown"
_SHOWN: Final = 10
_NOUNS: Final = {"array": "task", "het": "component"}


def as_json(found: Found) -> dict[str, Any]:
    """Return the job or jobs as plain values; times are UTC."""
    if found.kind == "job":
        return _plain(found.runs[0]) | {"other_runs": [_plain(run) for run in found.earlier]}
    together = of_group(found.runs)
    for name in ("longest", "largest"):
        together[name] = together[name] and together[name]["job_id"]
    return {"id": found.wanted, "kind": found.kind} | together | {
        "jobs": [_plain(run) for run in found.runs]
    }  # fmt: skip


def in_words(found: Found, zone: Zone) -> Iterator[str]:
    """Return lines for people; times are in the zone."""
    if found.kind != "job":
        yield from _group(found)
        return
    run = found.runs[0]
    yield from _as_seff(run)
    yield ""
    yield from _more(run, ZoneInfo(zone.name))
    for other in found.earlier:
        which = "unknown which" if other["restart"] is None else f"--restart {other['restart']}"
        yield f"Another run ({which}): {_state(other)} after {clock(other['elapsed_s'])}"
    yield from _steps(run["steps"])
    yield from _failed(run)


def clock(seconds: float | None) -> str:
    """Format seconds as ``1-02:03:04``, rounded to whole seconds as seff does."""
    if seconds is None:
        return _UNKNOWN
    days, rest = divmod(int(seconds + 0.5), 86_400)
    text = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{text}" if days else text


def size(count: float | None) -> str:
    """Format bytes as seff does: in powers of 1024 from kilobytes on, with two decimals."""
    if count is None:
        return _UNKNOWN
    value = count / 1024
    if not value:
        return "0.00 MB"
    for unit in "KMGTP":
        if value < 1024:
            return f"{value:.2f} {unit}B"
        value /= 1024
    return f"{value:.2f} EB"


def _least(row: dict[str, Any], name: str) -> tuple[str, int | None]:
    """Return the memory used, after ``at least `` where only its largest task has some recorded."""
    if row[name] is None and row["max_rss_bytes"]:
        return "at least ", row["max_rss_bytes"]
    return "", row[name]


def _as_seff(run: dict[str, Any]) -> Iterator[str]:
    yield f"Job ID: {run['job_id'] if run['job_id_raw'] is None else run['job_id_raw']}"
    if run["array_task_id"] is not None:
        yield f"Array Job ID: {run['array_job_id']}_{run['array_task_id']}"
    if run["het_offset"] is not None:
        yield f"Het Job ID: {run['het_job_id']}+{run['het_offset']}"
    yield from _owner(run)
    state = (run["state"] or _UNKNOWN).upper()
    waits = state == "PENDING"
    yield f"State: {state}" if waits or state == "RUNNING" else f"State: {_state(run)}"
    yield from _cores(run["alloc_cpus"], run["alloc_nodes"])
    if waits:
        yield "Efficiency not available for jobs in the PENDING state."
        return
    yield from _cpu(run["cpu_s"], run["cpu_time_s"])
    yield f"Job Wall-clock time: {clock(run['elapsed_s'])}"
    yield from _memory(run)
    if run["ended"] is False:
        yield "WARNING: the job has not ended: its use is unknown until then."
    elif run["ended"] is None:
        yield "WARNING: the dump does not record whether the job has ended (State, End)."


def _cores(cpus: int | None, nodes: int | None) -> Iterator[str]:
    """Show cores and nodes as seff does: 1 where nothing was allocated."""
    if cpus is None or (nodes is None and cpus > 1):
        yield f"Nodes: {_UNKNOWN if nodes is None else nodes}"
        yield f"Cores: {_UNKNOWN if cpus is None else cpus}"
    elif cpus <= 1:
        yield "Cores: 1"
    else:
        yield f"Nodes: {nodes or 1}"
        yield f"Cores per node: {cpus // (nodes or 1)}"


def _owner(run: dict[str, Any]) -> Iterator[str]:
    yield f"Cluster: {run['cluster'] or _UNKNOWN}"
    yield f"User/Group: {run['user'] or _UNKNOWN}/{run['group'] or _UNKNOWN}"


def _cpu(used: float | None, given: float | None) -> Iterator[str]:
    yield f"CPU Utilized: {clock(used)}"
    share = _UNKNOWN if used is None or not given else f"{100 * int(used + 0.5) / given:.2f}%"
    whole = "" if given is None else f" of {clock(given)} core-walltime"
    yield f"CPU Efficiency: {share}{whole}"


def _memory(run: dict[str, Any]) -> Iterator[str]:
    (least, used), given = _least(run, "mem_used_bytes"), run["alloc_mem_bytes"]
    sampled = [step for step in run["steps"] if step["used_mem"] is not None and not least]
    largest = max(sampled, key=lambda step: step["used_mem"], default=None)
    guess = " (estimated maximum)" if used and largest and largest["mem_estimated"] else ""
    yield f"Memory Utilized: {least}{size(used)}{guess}"
    share = _UNKNOWN if used is None or not given else f"{least}{100 * used / given:.2f}%"
    whole = ""
    if given is not None:
        unit = "core" if run["req_mem_per"] == "cpu" else "node"
        parts = run["alloc_cpus" if unit == "core" else "alloc_nodes"]
        each = "" if parts is None else f" ({size(given / (parts or 1))}/{unit})"
        whole = f" of {size(given)}{each}"
    yield f"Memory Efficiency: {share}{whole}"
    most, mean = (largest["max_rss_bytes"], largest["ave_rss_bytes"]) if largest else (None, None)
    if most and mean and most > mean:
        yield (
            "The task which had the largest memory consumption differs by "
            f"{100 * most / mean:.2f}% from the average task max memory consumption"
        )


def _more(run: dict[str, Any], zone: ZoneInfo) -> Iterator[str]:
    yield f"Name: {run['name'] or _UNKNOWN}"
    kinds = (run["account"], run["partition"], run["qos"])
    yield f"Account/Partition/QOS: {'/'.join(kind or _UNKNOWN for kind in kinds)}"
    waited = run["wait_s"] if run["wait_s"] is not None else run["planned_s"]
    after = f", waited {clock(waited)}" if waited is not None else ""
    yield f"Submitted: {_when(run['submit_time'], zone)}{after}"
    if run["start_time"] is not None:
        yield f"Started: {_when(run['start_time'], zone)}"
    if run["end_time"] is not None:
        yield f"Ended: {_when(run['end_time'], zone)}"
    limit = run["timelimit_s"]
    if limit:
        part = f", {100 * run['elapsed_s'] / limit:.2f}% used" if run["elapsed_s"] else ""
        yield f"Time limit: {clock(limit)}{part}"
    if run["alloc_gpus"]:
        busy = run["gpu_util_percent"]
        used = _UNKNOWN if busy is None else f"{busy / run['alloc_gpus']:.2f}%"
        yield f"GPUs: {run['alloc_gpus']}, used {used}"
        if run["gpu_mem_used_bytes"] is not None:
            yield f"GPU memory: {size(run['gpu_mem_used_bytes'])}"
    if run["node_list"] and run["start_time"] is not None:
        yield f"Nodes used: {run['node_list']}"


def _steps(steps: list[dict[str, Any]]) -> Iterator[str]:
    if not steps:
        return
    yield f"Steps: {len(steps)}"
    rows = [("step", "name", "state", "elapsed", "CPU", "memory")]
    rows += [
        (
            s["step_id"], s["name"] or "", (s["state"] or _UNKNOWN).upper(), clock(s["elapsed_s"]),
            clock(s["total_cpu_s"]), f"{least}{size(used)}",
        )
        for s in steps[:_SHOWN]
        for least, used in [_least(s, "used_mem")]
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield from (f"  {line}" for line in table_lines(rows, widths, [False] * len(widths)))
    if len(steps) > _SHOWN:
        yield f"  and {len(steps) - _SHOWN:,} more (--json lists all)"


def _failed(run: dict[str, Any]) -> Iterator[str]:
    """Name the steps with an exit code or a signal, else those that did not complete."""
    # the external step is Slurm's own and repeats the job's state
    steps = [step for step in run["steps"] if step["step_id"] != "extern"]
    bad = [step for step in steps if step["exit_code"] or step["exit_signal"]]
    bad = bad or [step for step in steps if step["state"] in FAILED]
    # the batch script repeats the failure of a step within it
    bad.sort(key=lambda step: step["step_id"] == "batch")
    for step in bad[:_SHOWN]:
        place = f" on {step['node_list']}" if step["node_list"] else ""
        yield f"Failed in: step {step['step_id']}, {_state(step)}{place}"


def _group(found: Found) -> Iterator[str]:
    runs, noun = found.runs, _NOUNS[found.kind]
    together = of_group(runs)
    yield f"{'Array Job' if found.kind == 'array' else 'Het Job'} ID: {found.wanted}"
    yield from _owner(runs[0])
    states = Counter((run["state"] or _UNKNOWN).upper() for run in runs)
    listed = ", ".join(f"{count:,} {state}" for state, count in states.most_common())
    yield f"{noun.capitalize()}s: {len(runs):,}: {listed}"
    yield from _cpu(together["cpu_s"], together["cpu_time_s"])
    longest, largest = together["longest"], together["largest"]
    if longest:
        yield (
            f"Wall-clock time of a {noun}: median {clock(together['median_elapsed_s'])}, longest "
            f"{clock(longest['elapsed_s'])} ({longest['job_id']})"
        )
    if largest:
        yield f"Memory Utilized by the largest {noun} ({largest['job_id']}):"
        yield from (f"  {line}" for line in _memory(largest))
    for kind, what in (("cpu", "CPU time"), ("mem", "memory")):
        count = together[f"{kind}_unknown"]
        if count:
            yield f"Unknown {what} of {count_in_words(count, noun)} of {len(runs):,}."
    odd = [run for run in runs if run["state"] != "completed"]
    if odd:
        yield f"Not completed: {len(odd):,}"
    for run in odd[:_SHOWN]:
        yield f"  {run['job_id']}  {_state(run)}  {clock(run['elapsed_s'])}"
    if len(odd) > _SHOWN:
        yield f"  and {len(odd) - _SHOWN:,} more (--json lists all)"


def _state(run: dict[str, Any]) -> str:
    code, signal = run["exit_code"], run["exit_signal"]
    words = f"exit code {_UNKNOWN if code is None else code}"
    words += f", signal {signal}" if signal else ""
    return f"{(run['state'] or _UNKNOWN).upper()} ({words})"


def _when(time: datetime | None, zone: ZoneInfo) -> str:
    return time.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S %Z") if time else _UNKNOWN


def _plain(run: dict[str, Any]) -> dict[str, Any]:
    used, given = run["cpu_s"], run["cpu_time_s"]
    memory, room = run["mem_used_bytes"], run["alloc_mem_bytes"]
    shares = {
        "cpu_eff": used / given if used is not None and given else None,
        "mem_eff": memory / room if memory is not None and room else None,
    }
    return {
        name: value for name, value in run.items() if name not in ("origin", "position")
    } | shares

"""Converts one job of ``sacct --json`` to rows of ``slurm.job`` and ``slurm.step``."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from . import json_values
from .json_values import member, number, objects_of, read, seconds_of, text_of, time_of

_FINE: Final = frozenset(
    {"completed", "pending", "running", "suspended", "configuring", "resizing"}
)


def _exit(data: Mapping[str, Any], keys: str, state: str | None) -> dict[str, Any]:
    """Return exit code and signal; empty and marked doubtful if they contradict the state."""
    unknown = {"exit_code": None, "exit_signal": None, "doubtful_exit": False}
    value = member(data, keys)
    if value is None:
        return unknown
    status = read(data, f"{keys}.status", json_values.texts_of)
    code = read(data, f"{keys}.return_code", number)
    caught = read(data, f"{keys}.signal.signal_id", number)
    if caught is None:
        caught = read(data, f"{keys}.signal.id", number)
    plain = not isinstance(value.get("return_code"), dict)
    success = status == ["SUCCESS"] and not isinstance(value["status"], list)
    if plain and success and not caught and state not in _FINE:
        return unknown | {"doubtful_exit": True}
    if code is None and caught is None and not success:
        return unknown
    return {"exit_code": code or 0, "exit_signal": caught or 0, "doubtful_exit": False}


def _array(data: Mapping[str, Any]) -> dict[str, Any]:
    raw = read(data, "job_id", number)
    if raw is None:
        raise ValueError("a job without a job_id")
    found: dict[str, Any] = {"job_id": str(raw), "job_id_raw": raw}
    leader = read(data, "array.job_id", number)
    task, tasks = read(data, "array.task_id", number), read(data, "array.task", text_of)
    limit = read(data, "array.limits.max.running.tasks", number)
    if leader:
        found |= {"array_job_id": leader, "array_task_id": task}
        if task is not None:
            found["job_id"] = f"{leader}_{task}"
        elif tasks:
            found["array_tasks"] = _tasks(tasks, limit)
            found["job_id"] = f"{leader}_[{found['array_tasks']}]"
    component, offset = read(data, "het.job_id", number), read(data, "het.job_offset", number)
    if component:
        found |= {"het_job_id": component, "het_offset": offset}
        found["job_id"] = f"{component}+{offset or 0}"
    return found


def _tasks(text: str, limit: int | None) -> str:
    """Return the indices of pending tasks as sacct prints them: ``0x7FE`` is bits 1 to 10."""
    if text.startswith("0x"):
        lowest_first = f"{int(text, 16):b}"[::-1]
        runs = [(run.start(), run.end() - 1) for run in re.finditer("1+", lowest_first)]
        text = ",".join(f"{a}-{z}" if z > a else f"{a}" for a, z in runs)
    return f"{text}%{limit}" if limit and "%" not in text else text


_JOB: Final = {
    **{name: (text_of, name) for name in ("cluster", "name", "group", "account", "partition")},
    **{name: (text_of, name) for name in ("qos", "constraints", "submit_line", "container")},
    "reservation": (text_of, "reservation.name"),
    "priority": (number, "priority"),
    "state_by": (text_of, "kill_request_user"),
    "reason": (text_of, "state.reason"),
    "flags": (json_values.joined, "flags"),
    "eligible_time": (time_of, "time.eligible"),
    "start_time": (time_of, "time.start"),
    "end_time": (time_of, "time.end"),
    "elapsed_s": (seconds_of, "time.elapsed"),
    "suspended_s": (seconds_of, "time.suspended"),
    "planned_s": (seconds_of, "time.planned"),
    "alloc_nodes": (number, "allocation_nodes"),
    "req_cpus": (number, "required.CPUs"),
    "node_list": (text_of, "nodes"),
    "restarts": (number, "restart_cnt"),
    "work_dir": (text_of, "working_directory"),
    "comment": (text_of, "comment.job"),
    "admin_comment": (text_of, "comment.administrator"),
    "system_comment": (text_of, "comment.system"),
    "wckey": (text_of, "wckey.wckey"),
}
"""Columns of jobs from one value of the JSON: how to read it, and its keys."""

_STEP: Final = {
    "name": (text_of, "step.name"),
    "state_by": (text_of, "kill_request_user"),
    "start_time": (time_of, "time.start"),
    "end_time": (time_of, "time.end"),
    "elapsed_s": (seconds_of, "time.elapsed"),
    "suspended_s": (seconds_of, "time.suspended"),
    "ntasks": (number, "tasks.count"),
    "layout": (text_of, "task.distribution"),
    "nodes": (number, "nodes.count"),
    "node_list": (text_of, "nodes.range"),
    "total_cpu_s": (seconds_of, "time.total"),
    "user_cpu_s": (seconds_of, "time.user"),
    "system_cpu_s": (seconds_of, "time.system"),
    "consumed_energy_j": (number, "statistics.energy.consumed"),
    "submit_line": (text_of, "submit_line"),
}
"""The same for steps."""

_READ: Final = {
    *(keys.partition(".")[0] for _, keys in _JOB.values()),
    *("array", "association", "derived_exit_code", "exit_code", "het", "job_id", "steps", "tres"),
    "user",
}
"""Keys of a job that become columns; all others go to ``extra``."""


def _values(columns: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    return {column: read(data, keys, shape) for column, (shape, keys) in columns.items()}


def job_row(data: Any) -> dict[str, Any]:
    """Return the row of a job; raises KeyError or ValueError for JSON that is not a job."""
    for keys in ("job_id", "state", "time", "time.submission"):
        around, _, key = keys.rpartition(".")
        if key not in json_values.object_of(member(data, around) if around else data):
            raise KeyError(key)
    state, flags = read(data, "state.current", json_values.states_of)
    requested = read(data, "tres.requested", json_values.mega_tres_of)
    allocated = read(data, "tres.allocated", json_values.mega_tres_of)
    limit = read(data, "time.limit", number)
    derived = _exit(data, "derived_exit_code", None)
    return {
        **_values(_JOB, data),
        **_array(data),
        **_exit(data, "exit_code", state),
        **_cpu_seconds(data),
        "user": read(data, "user", text_of) or read(data, "association.user", text_of),
        "state": state,
        "derived_exit_code": derived["exit_code"],
        "derived_exit_signal": derived["exit_signal"],
        "submit_time": read(data, "time.submission", time_of),
        "timelimit_s": None if limit is None else limit * 60.0,
        "alloc_cpus": allocated.get("cpu"),
        "req_mem_bytes": requested.get("mem"),
        "req_tres": _entries(requested),
        "alloc_tres": _entries(allocated),
        "extra": _entries(_job_extra(data, flags)),
    }


def _cpu_seconds(data: Mapping[str, Any]) -> dict[str, float | None]:
    """Sum CPU times over the steps, as sacct's tables do: those of jobs are always 0 in 22.05."""
    found = {}
    steps = read(data, "steps", objects_of)
    for word in ("total", "user", "system"):
        own = read(data, f"time.{word}", seconds_of)
        parts = [read(step, f"time.{word}", seconds_of) or 0.0 for step in steps]
        found[f"{word}_cpu_s"] = sum(parts) if steps else own
    return found


def _job_extra(data: Mapping[str, Any], flags: str | None) -> dict[str, str]:
    """Return values of a job without a column; flags: the words after its state."""
    extra = {
        key: json_values.in_words(value)
        for key, value in data.items()
        if key not in _READ and _says_something(value)
    }
    if flags:
        extra["state"] = flags
    required = data.get("required") or {}
    memory = {key: value for key, value in required.items() if key.startswith("memory")}
    if any(_says_something(value) for value in memory.values()):
        extra["required"] = json_values.in_words(memory)
    limit = data["time"].get("limit")
    if limit == json_values.INFINITE or (isinstance(limit, dict) and limit.get("infinite")):
        extra["Timelimit"] = "UNLIMITED"
    return extra


def _says_something(value: Any) -> bool:
    if isinstance(value, dict):
        if "set" in value and "number" in value:
            return bool(value["set"] and value["number"])
        return any(_says_something(item) for item in value.values())
    return bool(value)


def _entries(amounts: Mapping[str, Any]) -> list[tuple[str, Any]] | None:
    return list(amounts.items()) or None


def step_rows(data: Mapping[str, Any], job: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the rows of a job's steps."""
    for place, step in enumerate(objects_of(data.get("steps"))):
        try:
            yield _step_row(step, job)
        except ValueError as error:
            raise ValueError(f"steps[{place}].{error}") from None


def _step_row(step: Mapping[str, Any], job: Mapping[str, Any]) -> dict[str, Any]:
    state, flags = read(step, "state", json_values.states_of)
    allocated = read(step, "tres.allocated", json_values.mega_tres_of)
    step_id = read(step, "step.id", json_values.step_id_of)
    component = read(step, "step.het.component", number)  # of 21.08 and 22.05
    return {
        **_use(step),
        **{name: job[name] for name in ("job_id", "job_id_raw", "cluster", "account")},
        **_values(_STEP, step),
        **_exit(step, "exit_code", state),
        "step_id": step_id if component is None else f"{step_id}+{component}",
        "state": state,
        "alloc_cpus": allocated.get("cpu"),
        "alloc_tres": _entries(allocated),
        "extra": [("state", flags)] if flags else None,
    }


def _use(step: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a step used: in the JSON, ``requested`` is input and ``consumed`` is output."""

    def amounts(keys: str) -> dict[str, int]:
        return read(step, f"tres.{keys}", json_values.tres_of)

    columns: dict[str, Any] = {}
    for short, word in (("max", "max"), ("ave", "average")):
        used, written = amounts(f"requested.{word}"), amounts(f"consumed.{word}")
        columns |= {
            f"{short}_rss_bytes": used.get("mem"),
            f"{short}_vm_size_bytes": used.get("vmem"),
            f"{short}_pages": used.get("pages"),
            f"{short}_disk_read_bytes": used.get("fs/disk"),
            f"{short}_disk_write_bytes": written.get("fs/disk"),
        }
    least, total = amounts("requested.min"), amounts("requested.total")
    where, calm = (
        {entry["type"]: entry for entry in read(step, f"tres.requested.{key}", objects_of)}
        for key in ("max", "min")
    )
    if "cpu" in total:
        total["cpu"] = total["cpu"] / 1000  # type: ignore[assignment]  # milliseconds
    return columns | {
        "ave_cpu_s": used["cpu"] / 1000 if "cpu" in used else None,
        "min_cpu_s": least["cpu"] / 1000 if "cpu" in least else None,
        "min_cpu_node": read(calm, "cpu.node", text_of),
        "min_cpu_task": read(calm, "cpu.task", number),
        "max_rss_node": read(where, "mem.node", text_of),
        "max_rss_task": read(where, "mem.task", number),
        "usage_in_tot": _entries(total),
    }

"""One job of ``sacct --json`` as rows of ``slurm.job`` and ``slurm.step``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FINE: Final = frozenset(
    {"completed", "pending", "running", "suspended", "configuring", "resizing"}
)


def number(value: Any) -> int | None:
    """A number, plain or as ``{"set", "infinite", "number"}``; None where it is not set."""
    if isinstance(value, Mapping):
        if value.get("infinite") or not value.get("set", True):
            return None
        if value and "number" not in value:
            raise TypeError(f"{value!r:.80} where a number is due")
        value = value.get("number")
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(f"{value!r} where a number is due")
    whole = int(value)
    if isinstance(value, float) and whole != value:
        raise ValueError(f"{value!r} where a whole number is due")
    return whole if -(2**63) <= whole < 2**63 else None


def _time(value: Any) -> datetime | None:
    seconds = number(value)
    return _EPOCH + timedelta(seconds=seconds) if seconds else None


def _seconds(value: Any) -> float | None:
    """Seconds of a number, or of ``{"seconds", "microseconds"}``."""
    if isinstance(value, Mapping) and "seconds" in value:
        whole = number(value["seconds"]) or 0
        return (whole * 1_000_000 + (number(value.get("microseconds")) or 0)) / 1_000_000
    found = number(value)
    return None if found is None else float(found)


def _text(value: Any) -> str | None:
    if isinstance(value, list):
        return ",".join(map(_in_words, value)) or None
    return _in_words(value) if value not in (None, "", 0) else None


def _states(value: Any) -> tuple[str | None, str | None]:
    """State in lower case, and what is printed beside it (``REQUEUED``)."""
    if isinstance(value, Mapping):
        value = value.get("current")
    if isinstance(value, list):
        names = [_in_words(item).lower() for item in value]
        return (names[0] if names else None), ",".join(names[1:]) or None
    return (_in_words(value).lower() if value else None), None


def _exit(value: Any, state: str | None) -> dict[str, Any]:
    """Exit code and signal; empty, and doubtful, where they contradict the state."""
    unknown = {"exit_code": None, "exit_signal": None, "doubtful_exit": False}
    if not isinstance(value, Mapping):
        return unknown
    signal = value.get("signal") or {}
    caught = number(signal.get("signal_id", signal.get("id")))
    plain = not isinstance(value.get("return_code"), Mapping)
    success = value.get("status") == "SUCCESS"
    if plain and success and not caught and state not in _FINE:
        return unknown | {"doubtful_exit": True}
    code = number(value.get("return_code"))
    if code is None and caught is None and not success:
        return unknown
    return {"exit_code": code or 0, "exit_signal": caught or 0, "doubtful_exit": False}


def _tres(entries: Iterable[Mapping[str, Any]] | None, *, mega: bool) -> dict[str, int]:
    """Amounts by resource, as sacct spells it; mem in bytes (``mega``: it is counted in MiB)."""
    found = {}
    for entry in entries or ():
        amount = number(entry.get("count"))
        if amount is None or amount < 0:
            continue
        name = entry.get("name")
        key = f"{entry['type']}/{name}" if name else str(entry["type"])
        found[key] = amount * 1024**2 if mega and key == "mem" else amount
    return found


def _array(data: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that say which job it is."""
    raw = number(data["job_id"])
    if raw is None:
        raise ValueError("a job without a job_id")
    array, het = data.get("array") or {}, data.get("het") or {}
    found: dict[str, Any] = {"job_id": str(raw), "job_id_raw": raw}
    leader = number(array.get("job_id"))
    if leader:
        task = number(array.get("task_id"))
        found |= {"array_job_id": leader, "array_task_id": task}
        if task is not None:
            found["job_id"] = f"{leader}_{task}"
        elif array.get("task"):
            limits = ((array.get("limits") or {}).get("max") or {}).get("running") or {}
            found["array_tasks"] = _tasks(str(array["task"]), number(limits.get("tasks")))
            found["job_id"] = f"{leader}_[{found['array_tasks']}]"
    component = number(het.get("job_id"))
    if component:
        offset = number(het.get("job_offset"))
        found |= {"het_job_id": component, "het_offset": offset}
        found["job_id"] = f"{component}+{offset or 0}"
    return found


def _tasks(text: str, limit: int | None) -> str:
    """Indices of pending tasks as sacct prints them: ``0x7FE`` is the set of bits 1 to 10."""
    if text.startswith("0x"):
        bits = int(text, 16)
        indices = [index for index in range(bits.bit_length()) if bits >> index & 1]
        runs: list[list[int]] = []
        for index in indices:
            if runs and runs[-1][-1] == index - 1:
                runs[-1][1:] = [index]
            else:
                runs.append([index])
        text = ",".join("-".join(map(str, run)) for run in runs)
    return f"{text}%{limit}" if limit and "%" not in text else text


_JOB: Final = {
    "cluster": (_text, "cluster"),
    "name": (_text, "name"),
    "group": (_text, "group"),
    "account": (_text, "account"),
    "partition": (_text, "partition"),
    "qos": (_text, "qos"),
    "reservation": (_text, "reservation.name"),
    "constraints": (_text, "constraints"),
    "priority": (number, "priority"),
    "state_by": (_text, "kill_request_user"),
    "reason": (_text, "state.reason"),
    "flags": (_text, "flags"),
    "eligible_time": (_time, "time.eligible"),
    "start_time": (_time, "time.start"),
    "end_time": (_time, "time.end"),
    "elapsed_s": (_seconds, "time.elapsed"),
    "suspended_s": (_seconds, "time.suspended"),
    "planned_s": (_seconds, "time.planned"),
    "alloc_nodes": (number, "allocation_nodes"),
    "req_cpus": (number, "required.CPUs"),
    "node_list": (_text, "nodes"),
    "restarts": (number, "restart_cnt"),
    "work_dir": (_text, "working_directory"),
    "submit_line": (_text, "submit_line"),
    "comment": (_text, "comment.job"),
    "admin_comment": (_text, "comment.administrator"),
    "system_comment": (_text, "comment.system"),
    "wckey": (_text, "wckey.wckey"),
    "container": (_text, "container"),
}
"""Columns of jobs that are one value of the JSON: how it is read, and the keys to it."""

_STEP: Final = {
    "name": (_text, "step.name"),
    "state_by": (_text, "kill_request_user"),
    "start_time": (_time, "time.start"),
    "end_time": (_time, "time.end"),
    "elapsed_s": (_seconds, "time.elapsed"),
    "suspended_s": (_seconds, "time.suspended"),
    "ntasks": (number, "tasks.count"),
    "layout": (_text, "task.distribution"),
    "nodes": (number, "nodes.count"),
    "node_list": (_text, "nodes.range"),
    "total_cpu_s": (_seconds, "time.total"),
    "user_cpu_s": (_seconds, "time.user"),
    "system_cpu_s": (_seconds, "time.system"),
    "consumed_energy_j": (number, "statistics.energy.consumed"),
    "submit_line": (_text, "submit_line"),
}
"""The same of steps."""

_READ: Final = frozenset(keys.partition(".")[0] for _, keys in _JOB.values()) | {
    "array",
    "association",
    "derived_exit_code",
    "exit_code",
    "het",
    "job_id",
    "steps",
    "tres",
    "user",
}
"""Keys of a job that become columns; all others go to ``extra``."""


def _values(columns: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for column, (read, keys) in columns.items():
        value: Any = data
        for key in keys.split("."):
            value = (value or {}).get(key)
        found[column] = read(value)
    return found


def job_row(data: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a job.  Raises KeyError, TypeError or ValueError where it is not a job."""
    state, flags = _states(data["state"])
    time, tres = data["time"], data.get("tres") or {}
    requested = _tres(tres.get("requested"), mega=True)
    allocated = _tres(tres.get("allocated"), mega=True)
    limit = number(time.get("limit"))
    derived = _exit(data.get("derived_exit_code"), None)
    return {
        **_values(_JOB, data),
        **_array(data),
        **_exit(data.get("exit_code"), state),
        **_cpu_seconds(time, data.get("steps") or []),
        "user": _text(data.get("user")) or _text((data.get("association") or {}).get("user")),
        "state": state,
        "derived_exit_code": derived["exit_code"],
        "derived_exit_signal": derived["exit_signal"],
        "submit_time": _time(time["submission"]),
        "timelimit_s": None if limit is None else limit * 60.0,
        "alloc_cpus": allocated.get("cpu"),
        "req_mem_bytes": requested.get("mem"),
        "req_tres": _entries(requested),
        "alloc_tres": _entries(allocated),
        "extra": _entries(_job_extra(data, flags)),
    }


def _cpu_seconds(time: Mapping[str, Any], steps: Sequence[Any]) -> dict[str, float | None]:
    """CPU times of a job: the job's own are always 0 in 22.05; sacct's tables print the sum."""
    found = {}
    for word in ("total", "user", "system"):
        own = _seconds(time.get(word))
        parts = [_seconds(step["time"].get(word)) or 0.0 for step in steps]
        found[f"{word}_cpu_s"] = sum(parts) if steps else own
    return found


def _job_extra(data: Mapping[str, Any], flags: str | None) -> dict[str, str]:
    """What a job's columns do not hold.  flags: what is printed beside its state."""
    extra = {
        key: _in_words(value)
        for key, value in data.items()
        if key not in _READ and _says_something(value)
    }
    if flags:
        extra["state"] = flags
    required = data.get("required") or {}
    memory = {key: value for key, value in required.items() if key.startswith("memory")}
    if any(number(value) for value in memory.values()):
        extra["required"] = _in_words(memory)
    limit = data["time"].get("limit")
    if isinstance(limit, Mapping) and limit.get("infinite"):
        extra["Timelimit"] = "UNLIMITED"
    return extra


def _says_something(value: Any) -> bool:
    if isinstance(value, Mapping):
        if "set" in value and "number" in value:
            return number(value) not in (None, 0)
        return any(_says_something(item) for item in value.values())
    return bool(value)


def _in_words(value: Any) -> str:
    """A text as it is, and any other value as JSON writes it."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _entries(amounts: Mapping[str, Any]) -> list[tuple[str, Any]] | None:
    return list(amounts.items()) or None


def step_rows(data: Mapping[str, Any], job: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of a job's steps."""
    for step in data.get("steps") or ():
        yield _step_row(step, job)


def _step_row(step: Mapping[str, Any], job: Mapping[str, Any]) -> dict[str, Any]:
    state, flags = _states(step.get("state"))
    tres = step.get("tres") or {}
    allocated = _tres(tres.get("allocated"), mega=True)
    return {
        **_use(tres.get("requested") or {}, tres.get("consumed") or {}),
        **{name: job[name] for name in ("job_id", "job_id_raw", "cluster", "account")},
        **_values(_STEP, step),
        **_exit(step.get("exit_code"), state),
        # later versions print the job's id before it
        "step_id": str(step["step"]["id"]).rpartition(".")[2],
        "state": state,
        "alloc_cpus": allocated.get("cpu"),
        "alloc_tres": _entries(allocated),
        "extra": [("state", flags)] if flags else None,
    }


def _use(used: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of what a step used; of disks, ``written`` is what it wrote."""
    most, mean = _tres(used.get("max"), mega=False), _tres(used.get("average"), mega=False)
    least, total = _tres(used.get("min"), mega=False), _tres(used.get("total"), mega=False)
    most_out, mean_out = (_tres(written.get(k), mega=False) for k in ("max", "average"))
    where = {entry["type"]: entry for entry in used.get("max") or ()}
    calm = {entry["type"]: entry for entry in used.get("min") or ()}
    if "cpu" in total:
        total["cpu"] = total["cpu"] / 1000  # type: ignore[assignment]  # milliseconds
    return {
        "ave_cpu_s": mean["cpu"] / 1000 if "cpu" in mean else None,
        "min_cpu_s": least["cpu"] / 1000 if "cpu" in least else None,
        "min_cpu_node": _text(calm.get("cpu", {}).get("node")),
        "min_cpu_task": number(calm.get("cpu", {}).get("task")),
        "max_rss_bytes": most.get("mem"),
        "ave_rss_bytes": mean.get("mem"),
        "max_rss_node": _text(where.get("mem", {}).get("node")),
        "max_rss_task": number(where.get("mem", {}).get("task")),
        "max_vm_size_bytes": most.get("vmem"),
        "ave_vm_size_bytes": mean.get("vmem"),
        "max_pages": most.get("pages"),
        "ave_pages": mean.get("pages"),
        "max_disk_read_bytes": most.get("fs/disk"),
        "max_disk_write_bytes": most_out.get("fs/disk"),
        "ave_disk_read_bytes": mean.get("fs/disk"),
        "ave_disk_write_bytes": mean_out.get("fs/disk"),
        "usage_in_tot": _entries(total),
    }

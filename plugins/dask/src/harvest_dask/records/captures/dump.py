"""Conversion of a cluster dump (``Client.dump_cluster_state``) to the frames of a capture.

A dump is the state of a cluster at one moment, with only the last transitions, transfers, events
and log lines that the scheduler and workers still held. The whole file is loaded.
"""

import gzip
import pickletools
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgpack

from ..literals import STRING, LiteralFault, bytes_of_literal, canonical_key, key_of_literal
from .batches import TRANSFER
from .container import MapFault, dump_format

LARGEST: Final = 1 << 30
"""Maximum bytes of an unpacked dump: once loaded, it needs several times as much memory."""
_STATUS: Final = {
    "ExecuteSuccessEvent": "finished",
    "ExecuteFailureEvent": "error",
    "RescheduleEvent": "rescheduled",
}
_EVENT: Final = ("time", "topic", "message")
_TRANSITION: Final = ("time", "key", "start_state", "finish_state", "stimulus_id")
_OF_WORKER: Final = ("host", "nthreads", "memory_limit")
_TRANSFER: Final = {**TRANSFER, "peer": "who"}
_TASK: Final = re.compile(r"<Task(?:State)? (.+) [\w-]+>", re.DOTALL)
_LISTS: Final = re.compile(rf"({STRING})|\[\]|[\[\]]")
_TUPLES: Final = {"[]": "()", "[": "(", "]": ",)"}
_LINE: Final = re.compile(r"([\d-]+[ T][\d:,.]+) - ([\w.]+) - [A-Z]+ - (.*)", re.DOTALL)

_UNREADABLE: Final = (
    *(ValueError, EOFError, RecursionError, zlib.error, gzip.BadGzipFile),
    msgpack.UnpackException,
)
LOOKED_AT: Final = 4096
"""Bytes of a pickle to search: a class is named at the beginning of its object."""
_AROUND: Final = ("tblib", "copyreg", "cloudpickle", "functools", "builtins.getattr")
"""Names in pickles of helpers that build an object; the object's class follows them."""

Frame: TypeAlias = tuple[str, dict[str, Any]]
"""Kind of a frame, and its fields."""


def load(path: Path) -> dict[str, Any]:
    """Load the content of a dump; raises MapFault if it cannot be read."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    opened: Any = gzip.open if packed else open
    try:
        with opened(path, "rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ValueError(f"it holds more than {LARGEST >> 30} GiB")
        is_yaml = dump_format(path) == "yaml"
        found = _yaml(content) if is_yaml else msgpack.unpackb(content, strict_map_key=False)
        if _values(found, {}) > len(content):
            raise ValueError("some of its parts are repeated without end, or refer to themselves")
    except _UNREADABLE as error:
        raise MapFault(
            f"the cluster dump cannot be read ({str(error) or type(error).__name__}); if it was "
            "cut off, write or copy it again; dump_cluster_state(exclude=...) writes a smaller one"
        ) from error
    return found


def _yaml(content: bytes) -> dict[str, Any]:
    try:
        import yaml  # optional, as Dask has it
    except ImportError as error:
        install = "pip install 'hpc-harvest-dask[yaml]'"
        raise ValueError(f"PyYAML is not installed ({install})") from error

    class Plain(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """A YAML loader that reads tagged Python objects as plain lists, maps or texts."""

    def plain(loader: Any, _: str, node: Any) -> Any:
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True)
        return loader.construct_scalar(node)

    Plain.add_multi_constructor("", plain)
    try:
        found: dict[str, Any] = yaml.load(content, Plain)  # noqa: S506  a safe loader
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    return found


def _values(value: Any, known: dict[int, int]) -> int:
    """Count the values; a part with several references counts each time."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in known:
        known[id(value)] = LARGEST  # for a value that contains itself
        inner = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_values(each, known) for each in inner)
    return known[id(value)]


def frames_of(state: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], list[Frame]]]:
    """Yield the facts and frames of each process, the scheduler first."""
    scheduler = _map(state.get("scheduler", state.get("scheduler_info")))
    workers = _map(state.get("workers", state.get("worker_info")))
    versions = _map(state.get("versions"))
    known = {address: _map(worker) for address, worker in _map(scheduler.get("workers")).items()}
    raised = {
        (str(_key(event.get("key"))), str(event.get("stimulus_id"))): event["exception_text"]
        for worker in map(_map, workers.values())
        for event in map(_map, _list(worker.get("stimulus_log")))
        if event.get("exception_text")
    }
    facts = {"role": "scheduler", "address": scheduler.get("address"), "id": scheduler.get("id")}
    yield facts, _of_scheduler(dict(scheduler), known, raised, _map(versions.get("scheduler")))
    of_workers = _map(versions.get("workers"))
    for address, worker in workers.items():
        facts = {"role": "worker", "address": address, "id": _map(worker).get("id")}
        # for a worker that did not answer, the dump has the text of an error
        held = worker if isinstance(worker, dict) else {"state": worker}
        yield facts, _of_worker(dict(held), address, _map(of_workers.get(address)))


def _of_scheduler(
    state: dict[str, Any], workers: Mapping[str, Any], raised: Any, versions: Any
) -> list[Frame]:
    tasks = [task for task in _map(state.pop("tasks", None)).values() if isinstance(task, dict)]
    texts = {str(_key(task.get("key"))): _exception(task) for task in tasks}
    rows, others = [], []
    for entry in _list(state.pop("transition_log", None)):
        if isinstance(entry, list) and len(entry) in (5, 6) and isinstance(entry[3], dict):
            key, before, after, _, *stimulus, time = entry
            key, cause = _key(key), _text(stimulus[0]) if stimulus else None
            erred = before == "processing" and after == "erred"
            text = (raised.get((str(key), str(cause))) or texts.get(str(key))) if erred else None
            rows.append((time, key, before, after, cause, text))
        else:
            others.append((None, "transition_log", entry))
    came = [
        (address, "add", "cluster-dump", _text(worker.get("name")), *map(worker.get, _OF_WORKER))
        for address, worker in workers.items()
    ]
    clients = [c for c in _map(state.pop("clients", None)) if c != "fire-and-forget"]
    frames = [
        _rows("scheduler_transition", (*_TRANSITION, "exception"), rows),
        _rows("worker_event", ("worker", "action", "stimulus_id", "name", *_OF_WORKER), came),
        _rows("client_event", ("client", "action"), [(client, "add") for client in clients]),
        _rows("event", _EVENT, [*_events(state.pop("events", None)), *others]),
        *_rest(state, tasks, versions),
    ]
    graph = {
        "keys": tuple(_key(task.get("key")) for task in tasks),
        "dependencies": tuple(tuple(map(_key, _list(t.get("dependencies")))) for t in tasks),
        "requested": tuple(_key(task.get("key")) for task in tasks if task.get("who_wants")),
    }
    return [*frames, ("graph", graph)] if tasks else frames


def _of_worker(state: dict[str, Any], address: str, versions: Any) -> list[Frame]:
    moved = [
        (direction, _sizes(entry.get("keys")), *map(entry.get, _TRANSFER.values()))
        for direction in ("incoming", "outgoing")
        for name in (f"transfer_{direction}_log", f"{direction}_transfer_log")
        for entry in map(_map, _list(state.pop(name, None)))
    ]
    tasks = [task for task in _map(state.pop("tasks", None)).values() if isinstance(task, dict)]
    stimuli = [_map(stimulus) for stimulus in _list(state.pop("stimulus_log", None))]
    others = [(s.get("handled"), "stimulus", s) for s in stimuli]
    transitions = []
    for entry in _list(state.pop("log", None)):
        if isinstance(entry, list) and len(entry) >= 6 and isinstance(entry[-3], dict):
            key, before, *_, after, _, stimulus, time = entry
            transitions.append((time, _key(key), before, after, stimulus))
        else:
            others.append((None, "worker_log", entry))
    executed = [
        (_key(s.get("key")), s.get("start"), s.get("stop"), _STATUS[s["cls"]])
        for s in stimuli
        if isinstance(s.get("cls"), str) and s["cls"] in _STATUS
    ]
    lines = []
    for line in reversed(_list(state.pop("logs", None))):  # the newest comes first
        level, text = (*line, None)[:2] if isinstance(line, list) and line else (None, line)
        found = _LINE.fullmatch(text) if isinstance(text, str) else None
        logged, logger, said = found.groups() if found else (None, None, text)
        lines.append((level, "worker", logger, said, logged, address))
    return [
        _rows("worker_transition", _TRANSITION, transitions),
        _rows("execution", ("key", "begins", "ends", "status"), executed),
        _rows("transfer", ("direction", "keys", *_TRANSFER), moved),
        _rows("log", ("level", "source", "logger", "message", "logged", "worker"), lines),
        _rows("event", _EVENT, others),
        *_rest(state, tasks, versions),
    ]


def _events(topics: Any) -> Iterator[tuple[Any, ...]]:
    """Yield (time, topic, message) of each event; time is None where the dump has none."""
    for topic, entries in _map(topics).items():
        for entry in _list(entries) or [entries]:
            time, said = entry if isinstance(entry, list) and len(entry) == 2 else (None, entry)
            yield time, topic, said


def _rest(state: Any, tasks: Sequence[Any], versions: Mapping[str, Any]) -> Iterator[Frame]:
    """Yield frames that become events or packages: states of tasks, software, process state."""
    states = [(_key(task.get("key")), task.get("state"), task) for task in tasks]
    yield _rows("task_state", ("key", "state", "task"), states)
    if packages := _map(versions.get("packages")):
        yield "software", {"packages": {str(name): packages[name] for name in packages}}
    yield "process_state", {str(name): value for name, value in state.items()}


def _rows(kind: str, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Frame:
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return kind, {"n": len(rows), "columns": dict(zip(names, columns, strict=True))}


def _exception(task: Mapping[str, Any]) -> str | None:
    """Return a task's exception text; if Dask gave the task up, the pickled exception's class."""
    text, pickled = task.get("exception_text"), task.get("exception")
    if text or not isinstance(pickled, str | bytes):
        return text
    found = bytes_of_literal(pickled) if isinstance(pickled, str) else pickled
    return None if found is None else pickled_class(found)


def _key(key: Any) -> Any:
    """Return a key in canonical spelling; in a dump, tuples are lists and tasks are texts."""
    if isinstance(key, list):
        parts = _parts(key)
        return key if parts is None else str(parts)
    if not isinstance(key, str):
        return _text(key)
    found = _TASK.fullmatch(key)
    try:
        if found:
            return key_of_literal(found[1])
        if key.startswith("[") and key.endswith("]"):
            return key_of_literal(_LISTS.sub(lambda part: part[1] or _TUPLES[part[0]], key))
    except LiteralFault:
        return found[1] if found else key
    return canonical_key(key)


def _parts(key: Any) -> Any:
    """Convert a key's lists to tuples; return None for an object, which no key contains."""
    if not isinstance(key, list):
        return None if isinstance(key, dict) else key
    parts = tuple(map(_parts, key))
    return None if None in parts else parts


def _sizes(keys: Any) -> tuple[tuple[Any, Any], ...] | None:
    return (
        tuple((_key(key), size) for key, size in keys.items()) if isinstance(keys, dict) else None
    )


def _text(value: Any) -> Any:
    """Convert a single value to text; leave a list or object unchanged, to be rejected later."""
    return value if value is None or isinstance(value, dict | list) else str(value)


def _map(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def pickled_class(pickled: bytes) -> str | None:
    """Return the name of the first class in a pickle, without its module; None if there is none.

    Only the pickle's opcodes are read; nothing is unpickled.
    """
    texts: list[str] = []
    memo: list[list[str]] = []
    try:
        for code, value, _ in pickletools.genops(pickled[:LOOKED_AT]):
            if "UNICODE" in code.name or code.name in ("STRING", "SHORT_BINSTRING"):
                texts.append(str(value))
            elif code.name in ("BINGET", "LONG_BINGET"):
                texts.extend(memo[int(value or 0)][:1])
            elif code.name == "MEMOIZE":
                memo.append(texts[-1:])
            elif code.name == "GLOBAL" or (code.name == "STACK_GLOBAL" and len(texts) > 1):
                found = " ".join(texts[-2:]) if value is None else value
                module, _, name = found.partition(" ")
                if not f"{module}.{name}".startswith(_AROUND):
                    return name.rpartition(".")[2] or None
    except (ValueError, IndexError):  # truncated, or not a pickle
        return None
    return None

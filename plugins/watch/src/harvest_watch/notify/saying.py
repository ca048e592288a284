"""Notification of each receiver about news, with a record of what each received.

The record is written after the notification: a process killed in between repeats it at most once.
"""

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from harvest import Dataset, HarvestError, RunResult, interrupt
from harvest.commands import remark
from harvest.toolkit.files import write_atomically

from .config import Config
from .news import news_of
from .receivers import RECEIVERS, NotSaid


def say(dataset: Dataset, result: RunResult, config: Config) -> None:
    """Send news to each receiver; a failure is only noted and retried after the next commit."""
    place = str(Path(dataset.sink.location).absolute())
    name = hashlib.sha256(os.fsencode(place)).hexdigest()[:16]
    news = news_of(dataset, result, config)
    with _alone(config.folder, name, config.timeout_s) as file:
        said = _read(file)
        for receiver in config.receivers:
            before = said.get(receiver, [])
            # if findings are unknown, keep the reported ones, so that they are not new later
            kept = set(before) if news.findings is None else news.keys.intersection(before)
            try:
                if (message := news.message(before)) is not None:
                    RECEIVERS[receiver](message, config)
            except NotSaid as error:
                remark(f"notify: {receiver}: {error}; it is sent after the next commit")
            else:
                kept |= news.keys
            said[receiver] = sorted(kept)
            shown = os.fsencode(place).decode("utf-8", "backslashreplace")
            write_atomically(file, orjson.dumps({"dataset": shown, "said": said}))


def _read(file: Path) -> dict[str, list[str]]:
    try:
        found: dict[str, list[str]] = orjson.loads(file.read_bytes())["said"]
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError) as error:
        raise HarvestError(
            "the record of sent messages cannot be read",
            where=str(file),
            remedy="remove it: everything is sent again",
        ) from error
    return found


@contextlib.contextmanager
def _alone(folder: Path, name: str, wait_s: float) -> Iterator[Path]:
    """Lock a dataset's record and yield its path; no other process notifies in the meantime."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        opened = (folder / f"{name}.lock").open("w")
    except OSError as error:
        remedy = "set notify.state to a directory that you can write to"
        raise HarvestError(str(error.strerror), where=str(folder), remedy=remedy) from error
    with opened as lock:
        until = time.monotonic() + wait_s
        while True:
            interrupt.check()
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise HarvestError(
                        "another process is sending messages about this dataset",
                        where=str(folder / f"{name}.lock"),
                    ) from None
            time.sleep(0.05)
        yield folder / f"{name}.json"

"""A small process that forks one for each question: ``python -m harvest_serve.engine.nursery FD``.

It imports DuckDB and Arrow first, so that a fork starts in a moment, and nothing of harvest. FD is
a socket that passes one socket for each question. The forked process reads the question there,
answers there, and ends. It ends immediately when the other end closes or its time is over.

A question is a line of JSON: ``config`` and ``setup`` of DuckDB, ``sql`` and ``values`` of one
query, and ``refused``, a pattern of types that no answer can have; or ``parse``, a text; and
``time_s``. An answer is ``A`` and an Arrow stream, or nothing; then ``E`` and a line of JSON:
empty, or ``kind`` and ``text`` of an error.
"""

import contextlib
import json
import os
import re
import resource
import select
import signal
import socket
import sys
import threading
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.ipc

DATA_MB: Final = 400
"""Memory that the process of one query may use in addition to its start."""

BATCH_ROWS: Final = 8_192
BATCH_BYTES: Final = 32 * 2**20
"""Largest size of one batch."""


def main() -> None:
    """Fork processes until the other end closes."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps them
    control = socket.socket(fileno=int(sys.argv[1]))
    pa.array([])  # imports pandas if installed: once here, not in each fork
    while True:
        said, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not said:
            return
        if os.fork() == 0:
            control.close()
            _answer(socket.socket(fileno=descriptors[0]))
        os.close(descriptors[0])


def _answer(talk: socket.socket) -> None:
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with talk.makefile("rb") as questions:
            asked = json.loads(questions.readline())
        threading.Thread(target=_end, args=(talk, asked["time_s"]), daemon=True).start()
        _limit_memory()
        with talk.makefile("wb") as out:
            try:
                _run(asked, out)
                said = {}
            except Exception as error:  # noqa: BLE001 - it is reported to the server
                said = {"kind": type(error).__name__, "text": str(error)}
            out.write(f"E{json.dumps(said)}\n".encode())
        code = 0
    finally:
        os._exit(code)


def _end(talk: socket.socket, time_s: float) -> None:
    """End the process when the client is gone or its time is over."""
    waiting = select.poll()
    waiting.register(talk, select.POLLIN)  # only the end can still come
    waiting.poll(time_s * 1000)
    os._exit(2)


def _limit_memory() -> None:
    """Limit the memory that the process may use in addition to what it has."""
    with contextlib.suppress(OSError, ValueError):  # a system without /proc has other limits
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - quicker
            now = int(file.read().split()[5]) * resource.getpagesize()
        most = now + DATA_MB * 2**20
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _run(asked: dict[str, Any], out: Any) -> None:
    connection = duckdb.connect(":memory:", config=asked["config"])
    for statement in asked["setup"]:
        connection.execute(statement)
    if "parse" in asked:
        kinds = [each.type.name for each in connection.extract_statements(asked["parse"])]
        tree = None
        if kinds == ["SELECT"]:
            query = connection.execute("SELECT json_serialize_sql(?)", [asked["parse"]])
            tree = query.fetchone()[0]
        first, others = pa.RecordBatch.from_pydict({"kinds": [kinds], "tree": [tree]}), []
    else:
        found = connection.sql(asked["sql"], params=asked["values"])
        for name, kind in zip(found.columns, map(str, found.types), strict=True):
            if re.match(asked["refused"], kind):
                raise duckdb.InvalidTypeException(f"{name} has the type {kind}; CAST it AS VARCHAR")
        others = found.to_arrow_reader(BATCH_ROWS)
        first = pa.RecordBatch.from_pylist([], others.schema)
    out.write(b"A")
    with pa.ipc.new_stream(out, first.schema) as writer:
        writer.write_batch(first)
        out.flush()
        for batch in others:
            if batch.nbytes > BATCH_BYTES:
                raise MemoryError(f"{batch.num_rows} rows hold {batch.nbytes:,} bytes")
            writer.write_batch(batch)
            out.flush()


if __name__ == "__main__":
    main()

"""The tools over standard input and output, until the input ends."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

from harvest import interrupt
from harvest_serve.engine.scratch import scratch
from harvest_serve.given import Given
from harvest_serve.state import serve
from harvest_serve.work import Turns

from . import check_installed


def serve_mcp(datasets: Sequence[tuple[Path, Given]]) -> int:
    """Answer until standard input ends, or Ctrl-C; raises HarvestError where it cannot start."""
    check_installed()
    with interrupt.orderly(), scratch() as directory:
        served = serve(datasets, directory)
        from .server import server  # needs an optional library

        made, failed = server(served, Turns()), list[BaseException]()

        def answer() -> None:
            try:
                asyncio.run(made.run_stdio_async())
            except BaseException as error:  # noqa: BLE001 - it is raised below
                failed.append(error)

        # a daemon: it blocks on its input, and signals do not reach it
        answering = threading.Thread(target=answer, daemon=True)
        answering.start()
        while answering.is_alive() and not interrupt.requested():
            answering.join(interrupt.POLL_S)
        interrupt.forget()
        if failed:
            raise failed[0]
    return 0

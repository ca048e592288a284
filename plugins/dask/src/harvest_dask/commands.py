"""The command ``harvest dask capture``: record a running cluster."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from harvest import HarvestError, UsageError, interrupt
from harvest.toolkit.completion import argument, group, option, words

app = group("Capture running Dask clusters.")


@app.command("capture")
def capture_command(
    scheduler: Annotated[str, argument("ADDRESS", "The scheduler, for example tcp://node1:8786.")],
    output: Annotated[
        Path, option("-o --output DIR", "Write to DIR, a new directory that all machines share.")
    ],
    interval: Annotated[float, option("--interval SECONDS", "Time between samples.")] = 1.0,
    flush: Annotated[
        float, option("--flush SECONDS", "Events that a killed process may lose; at most 1.")
    ] = 0.5,
    via_scheduler: Annotated[
        bool, option("--via-scheduler", "The scheduler writes for all: only it needs DIR.")
    ] = False,
    yappi: Annotated[
        str | None,
        option(
            "--yappi cpu|wall",
            "Profile the workers with Yappi, in this time.",
            words("cpu", "wall"),
        ),
    ] = None,
    timeout: Annotated[
        float, option("--timeout SECONDS", "Wait for a scheduler that does not answer.")
    ] = 30.0,
) -> None:
    """Capture a running Dask cluster until Ctrl-C or the cluster's end.

    hpc-harvest-dask must be installed where the scheduler and the workers run.
    Read the capture with `harvest run -s dask:DIR`.
    """
    from distributed import Client  # late: help needs no Dask

    from .client import capture
    from .settings import CaptureError

    via = "scheduler" if via_scheduler else None
    with interrupt.orderly():
        _check(scheduler)
        client: Any = Client(  # type: ignore[no-untyped-call]
            scheduler, timeout=timeout, set_as_default=False
        )
        try:
            recording = capture(
                client, output, interval=interval, flush=flush, via=via, yappi=yappi, script=False
            )
            with recording:
                typer.echo(
                    f"capturing {scheduler} into {recording.directory}; Ctrl-C ends the capture"
                )
                ended = _wait(client)
        except CaptureError as error:
            raise HarvestError(str(error)) from error
        finally:
            client.close()
    typer.echo(f"{ended}; captured in {recording.directory}")


def _check(address: str) -> None:
    """Check that an address is one that Dask can connect to."""
    from distributed.comm.addressing import parse_address  # late: as above
    from distributed.comm.registry import get_backend

    try:
        get_backend(parse_address(address, strict=True)[0])
    except ValueError as error:
        raise UsageError(str(error), where=address, remedy="give tcp://HOST:PORT") from error


def _wait(client: Any) -> str:
    """Wait for Ctrl-C or the cluster's end; return which one occurred."""
    while client.status not in ("closing", "closed"):
        if interrupt.requested():
            interrupt.forget()
            return "ended by Ctrl-C"
        time.sleep(interrupt.POLL_S)
    return "the cluster ended"

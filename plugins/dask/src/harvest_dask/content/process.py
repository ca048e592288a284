"""First frames of a file: identity, software, configuration and environment of the process.

Secrets, recognized by name or within an address, are masked. Also measures the offset of the
process's clock to the scheduler's.
"""

import hashlib
import os
import platform
import re
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Final

import dask.config

from ..settings import Settings
from ..write.queues import Payload

ROUNDS: Final = 7
REPEAT_S: Final = 60.0
"""Seconds between clock measurements, since clocks drift."""

Offset = tuple[float, float]
"""Seconds to add to this process's times to get the scheduler's, and the round trip."""

_PREFIXES: Final = (
    *("SLURM_", "PBS_", "LSB_", "FLUX_", "COBALT_", "SGE_", "PMI_", "PALS_"),
    *("OMP_", "MKL_", "OPENBLAS_", "MALLOC_", "DASK_", "DARSHAN_", "DXT_", "CONDA_DEFAULT_"),
)
_NAMES: Final = (
    *("HOSTNAME", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "VIRTUAL_ENV"),
    *("CONDA_PREFIX", "NUMEXPR_NUM_THREADS", "PYTHONPATH", "LD_PRELOAD", "TMPDIR", "TZ"),
)

MASK: Final = "***"

_SECRET: Final = re.compile(
    r"pass(word|wd|phrase|code)?($|[._-])|secret|token(?!iz)|credential|auth|private|jwt|cookie|signature"
    r"|(^|[._-])(api|access)?key($|[._-])",
    re.IGNORECASE,
)
_ACCOUNT: Final = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_OPTION: Final = re.compile(r"--?([A-Za-z][\w.-]*)(=)?")


def start(
    settings: Settings, *, role: str, process: str, clock_offset_s: float | None, **facts: Any
) -> Payload:
    """Build the frame ``start``: facts common to all processes, and those of this role."""
    return {
        "kind": "start",
        "version": 1,
        "role": role,
        "time": time.time(),
        "id": process,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "python": platform.python_version(),
        "capture": settings.capture,
        "clock_offset_s": clock_offset_s,
    } | facts


def first_frames(*known: Payload) -> Iterable[Payload]:
    """Yield a file's first frames; collecting the facts is slow."""
    yield from known
    yield {"kind": "software", "python": platform.python_version(), "packages": _packages()}
    yield {"kind": "config", "values": mask_values(flat_config(dask.config.config))}
    chosen = sorted(name for name in os.environ if name.startswith(_PREFIXES) or name in _NAMES)
    environment = {name: os.environ[name] for name in chosen}
    yield {"kind": "environment", "values": mask_values(environment)}


def script() -> Payload:
    """Build the frame ``script``: the program that the client's process runs."""
    notebook = "ipykernel" in sys.modules
    found = None if notebook else getattr(sys.modules.get("__main__"), "__file__", None)
    path = Path(found).resolve() if found else None
    content = path.read_bytes() if path is not None and path.is_file() else None
    return {
        "kind": "script",
        "path": str(path) if path is not None else None,
        "sha256": hashlib.sha256(content).hexdigest() if content is not None else None,
        "size_bytes": len(content) if content is not None else None,
        "argv": mask_arguments(sys.argv),
        "notebook": notebook,
    }


async def measure(ask: Callable[[], Awaitable[float]]) -> Offset:
    """Measure the offset of this clock to the scheduler's.

    Of several requests, the one with the shortest round trip counts: the scheduler's answer falls
    within the round trip, so half of it bounds the error.
    """
    found: list[Offset] = []
    for _ in range(ROUNDS):
        sent, began = time.time(), time.perf_counter()
        theirs = await ask()
        trip = time.perf_counter() - began
        found.append((theirs - (sent + trip / 2), trip))
    return min(found, key=lambda offset: offset[1])


def _packages() -> dict[str, str]:
    """Return package versions by name; the first on the path counts, as for imports."""
    found: dict[str, str] = {}
    for distribution in distributions():
        name = distribution.metadata["Name"]
        if name:
            found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), distribution.version)
    return found


def mask_values(values: Mapping[str, str]) -> dict[str, str]:
    """Mask secrets in texts by name."""
    return {k: MASK if _SECRET.search(k) else mask_text(v) for k, v in values.items()}


def mask_text(text: str) -> str:
    """Mask the account in addresses of a text (``scheme://user:password@host``)."""
    return _ACCOUNT.sub(MASK, text)


def flat_config(config: Mapping[str, Any]) -> dict[str, str]:
    """Flatten a nested configuration to texts by dotted name."""

    def walk(prefix: str, value: Any) -> Iterable[tuple[str, str]]:
        if isinstance(value, Mapping) and value:
            for name, inner in value.items():
                yield from walk(f"{prefix}.{name}" if prefix else str(name), inner)
        else:
            yield prefix, str(value)

    return dict(walk("", config))


def mask_arguments(words: Iterable[str]) -> list[str]:
    """Mask the values of options that look secret in a command's words."""
    masked: list[str] = []
    hide = False
    for word in words:
        option = _OPTION.match(word)
        if option is None:
            masked.append(MASK if hide else mask_text(word))
            hide = False
            continue
        secret = _SECRET.search(option[1]) is not None
        hide = secret and option[2] is None
        masked.append(f"{option[0]}{MASK}" if secret and not hide else mask_text(word))
    return masked

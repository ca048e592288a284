"""The Dask cluster of the engine ``dask``: an existing one, or one that the engine starts.

A cluster that it starts is encrypted: whoever reaches a plain scheduler can run code as its user.
"""

import contextlib
import importlib
import json
import logging
import re
import secrets
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import attrs

from harvest.engines import available_cores
from harvest.errors import ConfigError, HarvestError, UsageError
from harvest.toolkit.settings import at_least, one_of, positive, setting
from harvest_cluster.batch import Options

from .local_worker import local_workers

_OF_SLURM: Final = (
    "partition", "account", "time", "cpus", "env_setup", "extra", "host", "directory",
)  # fmt: skip
_SAFE_PATH: Final = re.compile(r"[A-Za-z0-9_./@+,:=~-]+")
_LOGGERS: Final = ("distributed", "dask", "tornado", "asyncio")
_LIBRARIES: Final = "install hpc-harvest[dask]"


@attrs.frozen(kw_only=True)
class DaskConfig(Options):
    """Settings of the engine ``dask``."""

    address: str | None = setting("Address of a running scheduler, such as tls://node1:8786.")
    scheduler_file: str | None = setting("File with the address of a running scheduler.")
    cluster: str = setting(
        "Without an address: local (workers on this machine) or slurm (workers in Slurm jobs, by "
        "dask-jobqueue).",
        "local",
        one_of(("local", "slurm")),
    )
    threads: int = setting(
        "Partitions that a worker process reads at the same time.", 1, at_least(1)
    )
    host: str | None = setting("Host name or address of this process, as the jobs' workers see it.")
    directory: str = setting(
        "Directory that all nodes see, for the jobs' certificates and logs.",
        "~/.cache/harvest/dask",
    )
    tls: bool = setting("Encrypt the connections of a cluster that harvest starts.", True)
    tls_ca: str | None = setting("File of the certificate authority, PEM.")
    tls_cert: str | None = setting("File of this user's certificate, PEM.")
    tls_key: str | None = setting("File of the certificate's key, PEM.")
    retries: int = setting(
        "How often to retry a partition whose workers were lost.", 3, at_least(0)
    )
    timeout: float = setting(
        "Seconds to wait for a scheduler, and for a worker when there is none. Waiting for Slurm "
        "jobs to start has no limit.",
        60.0,
        positive,
    )

    def __attrs_post_init__(self) -> None:
        if self.address is not None and self.scheduler_file is not None:
            raise _unfit("scheduler_file", self.scheduler_file, "give either this or the address")
        if len({self.tls_ca is None, self.tls_cert is None, self.tls_key is None}) > 1:
            raise ConfigError(
                "TLS needs all of tls_ca, tls_cert and tls_key", where="dask", remedy="give all"
            )
        for name in _OF_SLURM:
            given = getattr(self, name) != getattr(attrs.fields(DaskConfig), name).default
            if given and (self.existing or self.cluster != "slurm"):
                raise _unfit(name, getattr(self, name), "it needs dask.cluster=slurm")
        if self.existing and not self.tls:
            raise _unfit(
                "tls", self.tls, "the address of a running cluster decides: tcp:// or tls://"
            )
        if self.existing and self.memory is not None:
            raise _unfit("memory", self.memory, "a running cluster has its own memory setting")
        if not self.existing and self.cluster == "slurm":
            self._check_slurm()

    @property
    def existing(self) -> bool:
        """Whether the cluster was already running."""
        return self.address is not None or self.scheduler_file is not None

    def _check_slurm(self) -> None:
        if self.memory is None:
            raise _unfit("memory", None, "give the memory of a job, such as dask.memory=8G")
        # dask-jobqueue writes these into a shell script as they are
        for name in ("directory", "tls_ca", "tls_cert", "tls_key", "host"):
            value = getattr(self, name)
            if value is not None and not _SAFE_PATH.fullmatch(value):
                raise _unfit(name, value, "use letters, digits and ._/@+,:=~- only")


def _unfit(name: str, value: Any, remedy: str) -> ConfigError:
    return ConfigError(f"{value!r} does not fit", where=f"dask.{name}", remedy=remedy)


def library(name: str) -> Any:
    """Import a package of the extra ``dask``; raises UsageError if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(
            f"the engine dask cannot import {name} ({error})", remedy=_LIBRARIES
        ) from error


@contextlib.contextmanager
def connect(config: DaskConfig, workers: int | None, cost_bytes: int) -> Iterator[Any]:
    """Connect a client to the cluster; afterwards, stop everything that was started for it.

    Raises UsageError when Dask is not installed, HarvestError when no scheduler answers.
    """
    distributed = library("distributed")
    with contextlib.ExitStack() as stack:
        stack.enter_context(_silent())
        # a scheduler that the engine starts needs no web pages
        routes = {f"distributed.{part}.http.routes": () for part in ("scheduler", "worker")}
        stack.enter_context(library("dask").config.set(routes))
        security = _security(config)
        target: Any
        if config.existing:
            target = _address(config)
        else:
            start = _slurm if config.cluster == "slurm" else _local
            target = stack.enter_context(start(config, workers, cost_bytes, security))
        try:
            client = distributed.Client(
                target, security=security, timeout=config.timeout, set_as_default=False
            )
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            problem = f"no connection to the Dask scheduler: {error}"
            remedy = "check its address, that it runs, and the TLS settings"
            raise HarvestError(problem, where=str(target), remedy=remedy) from error
        stack.callback(client.close, timeout=5)
        yield client


def _address(config: DaskConfig) -> str:
    """Return the running scheduler's address; encrypted if and only if certificates are set."""
    address, setting = config.address, "address"
    if config.scheduler_file is not None:
        setting = "scheduler_file"
        try:
            address = json.loads(Path(config.scheduler_file).read_bytes())["address"]
        except (OSError, ValueError, LookupError, TypeError) as error:
            remedy = f"start the scheduler with --scheduler-file first ({error})"
            raise _unfit(setting, config.scheduler_file, remedy) from error
    given = config.tls_ca or library("dask").config.get("distributed.comm.tls.ca-file")
    encrypted = str(address).startswith("tls://")
    if encrypted and not given:
        raise _unfit(setting, address, "it is encrypted: give tls_ca, tls_cert and tls_key")
    if config.tls_ca is not None and not encrypted:
        raise _unfit(setting, address, "with certificates the address must begin with tls://")
    return str(address)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Silence Dask's own log: a lost worker fills pages with tracebacks, and errors report it."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith(_LOGGERS)]
    with contextlib.ExitStack() as levels:
        for logger in map(logging.getLogger, names):
            levels.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL + 1)
        yield


def _security(config: DaskConfig) -> Any:
    security = library("distributed").Security
    if config.tls_ca is not None:
        for name in ("tls_ca", "tls_cert", "tls_key"):
            if not Path(getattr(config, name)).is_file():
                raise _unfit(name, getattr(config, name), "no such file")
        pair = {"cert": config.tls_cert, "key": config.tls_key}
        roles = {f"tls_{role}_{kind}": file for role in ("client", "scheduler", "worker")
                 for kind, file in pair.items()}  # fmt: skip
        return security(require_encryption=True, tls_ca_file=config.tls_ca, **roles)
    if config.existing or not config.tls:
        return None
    try:
        return security.temporary()
    except ImportError as error:
        raise UsageError(
            "an encrypted cluster needs the package cryptography", remedy=_LIBRARIES
        ) from error


@contextlib.contextmanager
def _local(
    config: DaskConfig, workers: int | None, cost_bytes: int, security: Any
) -> Iterator[Any]:
    count = workers or min(available_cores(), 1 + cost_bytes // (16 << 20))
    threads = str(max(1, available_cores() // count))
    limits = {"POLARS_MAX_THREADS": threads, "OMP_NUM_THREADS": threads}
    whole = library("distributed").system.MEMORY_LIMIT
    memory = _binary(config.memory) if config.memory else whole // count
    with (
        library("distributed").LocalCluster(
            n_workers=0,
            security=security,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        ) as cluster,
        local_workers(
            count,
            cluster.scheduler_address,
            security,
            library("dask").config.config,
            host="127.0.0.1",
            nthreads=config.threads,
            memory_limit=memory,
            dashboard=False,
            silence_logs=logging.CRITICAL,
            env=limits,
        ),
    ):
        yield cluster


@contextlib.contextmanager
def _slurm(
    config: DaskConfig, workers: int | None, cost_bytes: int, security: Any
) -> Iterator[Any]:
    jobqueue = library("dask_jobqueue")
    if shutil.which("sbatch") is None:
        raise UsageError("sbatch is not on the PATH", remedy="run this where Slurm's commands are")
    folder = Path(config.directory).expanduser().absolute() / secrets.token_hex(6)
    if not _SAFE_PATH.fullmatch(str(folder)):
        raise _unfit("directory", str(folder), "use letters, digits and ._/@+,:=~- only")
    folder.mkdir(mode=0o700, parents=True)
    host = {"host": config.host} if config.host else {}
    jobs = workers or min(10, 1 + cost_bytes // (256 << 20))
    with jobqueue.SLURMCluster(
        queue=config.partition,
        account=config.account,
        walltime=config.time,
        cores=config.threads,
        processes=1,
        job_cpu=config.cpus or config.threads,
        memory=_binary(config.memory or ""),
        job_extra_directives=list(config.extra),
        job_script_prologue=[config.env_setup],
        job_name="harvest",
        python=f"{shlex.quote(sys.executable)} -P",
        worker_extra_args=["--no-dashboard"],
        log_directory=str(folder),
        shared_temp_directory=str(folder),
        security=security,
        scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0", **host},
    ) as cluster:
        # jobs that are lost are replaced
        cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)
        yield cluster
    for name in ("ca_file", "cert", "key"):
        file = getattr(cluster, f"_job_{name}", None)  # removes itself when closed
        if file is not None:
            file.close()
    # kept when the run failed: the logs say why
    shutil.rmtree(folder, ignore_errors=True)


def _binary(memory: str) -> str:
    """Convert a size from Slurm's to Dask's spelling: ``4G`` is 4 GiB, a bare number is MiB."""
    number, unit = memory.rstrip("KMGTkmgt"), memory[-1].upper()
    return f"{number}{unit if unit in 'KMGT' else 'M'}iB"

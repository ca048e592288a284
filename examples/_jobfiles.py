"""The files around the events of the example run: job, configuration, logs.  All are invented."""

from datetime import UTC, datetime

JOB_SCRIPT = """\
#!/bin/bash -l
#PBS -N flow-anomaly
#PBS -l select=6:system=larch
#PBS -l walltime=00:20:00
#PBS -q debug
#PBS -A fluid-demo
#PBS -l filesystems=home:scratch

set -eu
cd $PBS_O_WORKDIR
spack env activate dask-demo
spack find -fN

export DXT_ENABLE_IO_TRACE=1
sed -n 1p $PBS_NODEFILE > SchedulerNode
sed -n 2p $PBS_NODEFILE > ClientNode
sed -n 3p $PBS_NODEFILE > ConsumerNode
sed -n 4p $PBS_NODEFILE > MofkaServerNode
sed -n 5,6p $PBS_NODEFILE > WorkerNodes

mpiexec -n 1 --hostfile MofkaServerNode bedrock cxi -c config.json 1>>bedrock.o 2>>bedrock.e &
mpiexec -n 1 --hostfile SchedulerNode dask scheduler --scheduler-file=scheduler.json \\
    --preload MofkaSchedulerPlugin.py 1>>scheduler.o 2>>scheduler.e &
mpiexec -n 2 --hostfile ClientNode python anomaly.py 1>>producer.o 2>>producer.e &
mpiexec -n 4 --ppn 2 --hostfile WorkerNodes dask worker --nthreads 2 \\
    --scheduler-file=scheduler.json --preload MofkaWorkerPlugin.py 1>>worker.o 2>>worker.e &
mpiexec -n 1 --hostfile ConsumerNode python consumer.py 1>>consumer.o 2>>consumer.e
wait
"""

LAUNCHER = """\
REPETITIONS=1
WORKERS=4
for R in $(seq 1 $REPETITIONS); do
    WORKSPACE=/scratch/fluid-demo/D$(date +%Y-%m-%d_%T)_R${R}_W${WORKERS}
    mkdir -p $WORKSPACE && cd $WORKSPACE
    cp -r $HOME/flow-anomaly/* .
    qsub -o $WORKSPACE job.sh
done
"""

WORKFLOW = '''\
"""Anomalies of a flow field: normalise its blocks, then fit and score a model for each."""

import dask.array as da
from distributed import Client
from flow_model import fit, normalize, score

client = Client(scheduler_file="scheduler.json")
field = da.from_zarr("velocity.zarr")
blocks = field.map_blocks(normalize)
print("total", blocks.sum(split_every=2).compute())
models = client.map(fit, range(10))
scores = client.map(score, models)
print("scores", client.gather(scores, errors="skip"))
client.shutdown()
'''

JOB_OUTPUT = """\
==> In environment dask-demo
==> Root specs
darshan-runtime@3.4.4 ~mpi
mofka
py-dask
py-zarr

==> Installed packages
-- linux-sles15-zen3 / gcc@12.2.0 -------------------------------
builtin.bzip2@1.0.8%gcc
builtin.darshan-runtime@3.4.4%gcc
builtin.hdf5@1.14.3%gcc
builtin.libfabric@1.20.1%gcc
mochi.mercury@2.3.1%gcc
mochi.mochi-margo@0.15.0%gcc
mochi.mochi-bedrock@0.10.0%gcc
mochi.mofka@0.0.4%gcc
builtin.nlohmann-json@3.11.2%gcc
builtin.py-dask@2024.4.2%gcc
builtin.py-distributed@2024.4.2%gcc
builtin.py-numpy@1.26.4%gcc
builtin.py-pandas@1.5.3%gcc
builtin.py-zarr@2.17.0%gcc
builtin.python@3.11.7%gcc
builtin.zlib@1.3.1%gcc
builtin.zstd@1.5.5%gcc
Creating Mofka Server
launching Scheduler
Connect Master Client
Connect Mofka consumer client
"""

CONFIG_JSON = """\
{
    "libraries": {
        "mofka": "libmofka-bedrock-module.so",
        "warabi": "libwarabi-bedrock-module.so",
        "yokan": "libyokan-bedrock-module.so"
    },
    "providers": [
        {
            "name": "data",
            "type": "warabi",
            "provider_id": 1,
            "config": {"target": {"type": "memory", "config": {}}}
        },
        {
            "name": "metadata",
            "type": "yokan",
            "provider_id": 2,
            "tags": ["mofka:master"],
            "config": {"database": {"type": "map", "config": {}}}
        }
    ],
    "ssg": [{"name": "mofka_group", "method": "init", "group_file": "mofka.ssg"}]
}
"""

CONFIG_TXT = """\
# trace single reads and writes
MOD_ENABLE      DXT_POSIX

MAX_RECORDS     65536      POSIX,MPI-IO
NAME_EXCLUDE    .pyc$,.so$,.py$    *
MODMEM  8
APP_EXCLUDE     git,ls
"""

DISTRIBUTED_YAML = """\
version: 2
scheduler:
  allowed-failures: 3
  work-stealing: true
  worker-saturation: 1.0
  worker-ttl: 5 minutes
worker:
  memory:
    target: 0.6
    spill: 0.7
    pause: 0.8
    terminate: 0.95
  profile:
    interval: 10ms
comm:
  compression: false
  retry:
    count: 0
  timeouts:
    connect: 30s
    tcp: 30s
"""


class Log:
    """A log as Dask writes it, its lines put in order of time."""

    def __init__(self) -> None:
        self.lines: list[tuple[float, int, str]] = []

    def add(self, time: float, logger: str, message: str, level: str = "INFO") -> None:
        """Log a message at a time."""
        moment = datetime.fromtimestamp(time, UTC)
        stamp = f"{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03}"
        line = f"{stamp} - distributed.{logger} - {level} - {message}"
        self.lines.append((time, len(self.lines), line))

    def text(self) -> str:
        """The log."""
        return "".join(f"{line}\n" for _, _, line in sorted(self.lines))


def scheduler_log(
    start: float, end: float, scheduler: str, clients: dict[str, float], workers: dict[str, float]
) -> str:
    """``scheduler.e``; clients and workers with the time each came."""
    log = Log()
    host = scheduler.removeprefix("tcp://").partition(":")[0]
    log.add(start, "preloading", "Import preload module: MofkaSchedulerPlugin.py")
    log.add(start + 0.9, "scheduler", "State start")
    log.add(start + 0.91, "scheduler", f"  Scheduler at:   {scheduler}")
    log.add(start + 0.91, "scheduler", f"  dashboard at:  http://{host}:8787/status")
    log.add(start + 0.92, "preloading", "Run preload setup: MofkaSchedulerPlugin.py")
    for client, time in clients.items():
        log.add(time - 2e-4, "scheduler", f"Receive client connection: {client}")
        log.add(end - 0.02, "scheduler", f"Remove client {client}")
    for number, (worker, time) in enumerate(workers.items()):
        state = f"<WorkerState '{worker}', status: {{}}, memory: 0, processing: 0>"
        log.add(time, "scheduler", f"Register worker {state.format('init')}")
        log.add(time + 1e-3, "scheduler", f"Starting worker compute stream, {worker}")
        gone = end + 0.001 * number
        cause = f"(stimulus_id='handle-worker-cleanup-{gone!r}')"
        log.add(gone, "scheduler", f"Remove worker {state.format('running')} {cause}")
    log.add(end - 0.01, "scheduler", "Scheduler closing due to unknown reason...")
    log.add(end + 0.02, "scheduler", "Lost all workers")
    log.add(end + 0.03, "scheduler", f"Stopped scheduler at '{scheduler}'")
    log.add(end + 0.03, "scheduler", "End scheduler")
    return log.text()


def worker_log(scheduler: str, end: float, workers: dict[str, float], failed: str) -> str:
    """``worker.e``: all workers write into one file; ``failed`` names the task that failed."""
    log = Log()
    rule = "-" * 49
    for number, (worker, time) in enumerate(workers.items()):
        host, _, port = worker.removeprefix("tcp://").partition(":")
        nanny = f"tcp://{host}:{int(port) + 1000}"
        up = time - 1.5 + 0.01 * number
        log.add(up - 1.2, "nanny", f"        Start Nanny at: '{nanny}'")
        log.add(up, "worker", f"      Start worker at:   {worker}")
        log.add(up, "worker", f"         Listening to:   {worker}")
        log.add(up, "worker", f"         dashboard at:         {host}:{int(port) + 2000}")
        log.add(up, "worker", f"Waiting to connect to:    {scheduler}")
        log.add(up, "worker", rule)
        log.add(up, "worker", "              Threads:                          2")
        log.add(up, "worker", "               Memory:                  62.50 GiB")
        log.add(up, "worker", f"      Local Directory: /local/scratch/dask/worker-{number:04d}")
        log.add(up, "worker", rule)
        log.add(time + 2e-3, "worker", f"        Registered to:    {scheduler}")
        log.add(time + 2e-3, "worker", rule)
        closing = f"Closing Nanny gracefully at '{nanny}'. Reason: scheduler-close"
        log.add(end + 0.005 + 1e-3 * number, "nanny", closing)
    last = next(reversed(workers))
    log.add(
        end - 0.6,
        "worker",
        f"Compute Failed\nKey:       {failed}\nFunction:  score\nargs:      (3)\nkwargs:    {{}}\n"
        "Exception: \"ValueError('singular matrix')\"",
        "WARNING",
    )
    log.add(end + 0.4, "nanny", f"Worker process died unexpectedly ({last})", "ERROR")
    log.add(end + 0.5, "dask_worker", "End worker")
    return log.text()

"""Text files of a run, line by line: Dask's logs, the consumer's, job scripts, node files, outputs.

The first byte chooses the file.  Every line of it must be accounted for.
"""

from random import Random

from harvest_mofka_dask.source import Config, MofkaDaskSource
from harvest_toolkit import lines as toolkit_lines

from .. import seeds
from ..invariant import check_source, require, write
from ..mutate import change_lines
from . import Target

FILES = ("scheduler.e", "worker.e", "consumer.o", "job.sh", "WorkerNodes", "1.OU", "config.txt")
ZONES = ("UTC", "America/Chicago", "Europe/Berlin", "Asia/Kolkata")
EXAMPLES = dict(zip(FILES, FILES, strict=True)) | {"1.OU": "411207.larch-pbs-01.OU"}


def run(data: bytes) -> None:
    """Read a file, and a log in small blocks too."""
    first, body = (data[0], data[1:]) if data else (0, b"")
    name = FILES[first % len(FILES)]
    if name == "job.sh":
        body = b"#PBS -q a\n" + body  # what makes a script a batch script
    path = write(name, body)
    config = Config(timezone=ZONES[first // len(FILES) % len(ZONES)])
    found = check_source(MofkaDaskSource(str(path), config))
    if found is None:
        return
    lines = body.count(b"\n") + (not body.endswith(b"\n") and bool(body))
    require((found.units or 0) >= lines, f"{lines} lines, {found.units} units")
    if first % 3 == 0 and name in FILES[:3]:
        usual, toolkit_lines.BLOCK_BYTES = toolkit_lines.BLOCK_BYTES, 400
        try:
            cut = check_source(MofkaDaskSource(str(path), config))
        finally:
            toolkit_lines.BLOCK_BYTES = usual
        if cut is not None:
            require(cut.units == found.units, f"{cut.units} units in blocks, {found.units} whole")


def make_seeds() -> list[bytes]:
    """The files of the example run, and what they lack."""
    files = seeds.dask_run()
    made = [
        bytes([number]) + seeds.lines(files[EXAMPLES[name]], 60)[:3000]
        for number, name in enumerate(FILES)
    ]
    modules = b"Currently Loaded Modules:\n  1) gcc/12.2   2) cray-mpich/8.1 (E)\n\n"
    pip = b"Package  Version  Location\n-------- ------- ------\nnumpy    2.1.0   /x\nx==1.0\n"
    spack = b"==> 2 installed packages\n-- linux-x / gcc@12 ---\nzlib@1.3+x  abcdefg bzip2@1.0\n"
    slurm = b"#SBATCH --nodes=4 -N 2 --exclusive\n#SBATCH -t 1:00 # why\nsrun x\n#SBATCH -q y\n"
    skipped = b"2024-03-10 02:30:00,000 - distributed.worker - INFO - Threads: 4\n"
    twice = b"2024-11-03 01:30:00,000 - distributed.worker - ERROR - x\n  more\n\n"
    return [
        *made,
        b"\x05" + modules + pip + spack,
        b"\x03" + slurm,
        b"\x08" + skipped + twice,
        b"\x02data failure: {'a': 1\n\nTotal time taken  = 41.07s\n",
        b"\x00\xef\xbb\xbf" + skipped + b"\xff\xfe\n" + twice + b"no newline",
    ]


def mutate(data: bytes, random: Random) -> bytes:
    """A change of lines or words; the first byte stays."""
    return data[:1] + change_lines(data[1:], random, random.choice([b" ", b"=", b","]))


TARGET = Target(
    name="mofka_lines",
    doc=__doc__,
    seeds=make_seeds,
    run=run,
    mutate=mutate,
)

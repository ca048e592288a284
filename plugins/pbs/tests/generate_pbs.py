"""Write accounting records as a server of OpenPBS or PBS Professional does.

    python generate_pbs.py FILE --records 1000000

Each job is queued (Q), started (S) and ended (E) or rerun (R); some are altered (a), aborted (A)
or deleted (D), and a record of licences (L) stands between them now and then.  Members come in the
order in which the server writes them.  A value with blanks is quoted: by ``"``, or by ``'`` where
it holds a ``"`` itself; an account always is.  Records of jobs that wait or run end with a blank.
"""

import argparse
import heapq
import itertools
import random
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

QUEUES = ("workq", "small", "large", "gpu")
NAMES = ("relax", "STDIN", "md_run", "train.sh", "post-process", "höhe_3")
PROJECTS = ("_pbs_project_default",) * 14 + ("climate",) * 5 + ("wind tunnel",)


def quoted(value: str) -> str:
    """A value as it stands in a record."""
    if " " not in value:
        return value
    quote = "'" if '"' in value else '"'
    return f"{quote}{value}{quote}"


def clock(seconds: int) -> str:
    """A duration as the server writes it: hours may have more than two digits."""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


class Server:
    """A server that gives jobs numbers and writes about them in the order of time."""

    def __init__(self, seed: int, zone: ZoneInfo) -> None:
        self.chance = random.Random(seed)
        self.zone = zone
        self.jobs = itertools.count(1000)

    def records(self, start: datetime, every: float) -> Iterator[str]:
        """Records without end; a job is submitted every so many seconds."""
        waiting: list[tuple[int, int, str]] = []
        order = itertools.count()
        moment = start.timestamp()
        while True:
            moment += self.chance.expovariate(1 / every)
            while waiting and waiting[0][0] <= moment:
                yield heapq.heappop(waiting)[2]
            for when, line in self.life(int(moment)):
                heapq.heappush(waiting, (when, next(order), line))

    def life(self, ctime: int) -> Iterator[tuple[int, str]]:
        """What is written about one job, with the time of each record."""
        chance = self.chance
        job = f"{next(self.jobs)}.pbs01"
        nodes, cpus = chance.choice((1, 1, 1, 2, 4)), chance.choice((4, 16, 64))
        wanted, used = chance.choice((600, 3600, 86400, 720000)), chance.randrange(2, 90000)
        about = self.about(ctime)
        asked = self.asked(nodes, cpus, wanted)
        yield ctime, self.line(ctime, "Q", job, f"{about}{asked}")
        start = ctime + chance.randrange(0, 600)
        fate = chance.random()
        if fate < 0.02:
            yield (
                start,
                self.line(start, "A", job, "Job deleted as result of dependency on 12.pbs01"),
            )
            return
        if fate < 0.05:
            yield start, self.line(start, "a", job, "Resource_List.walltime=01:00:00 Priority=5")
        at = [f"node{chance.randrange(1, 2000):04d}" for _ in range(nodes)]
        hosts = "+".join(f"{node}/{chance.randrange(4)}*{cpus}" for node in at)
        vnodes = "+".join(f"({node}:ncpus={cpus}:mem=8388608kb)" for node in at)
        there = f"{about}start={start} exec_host={hosts} exec_vnode={vnodes} {asked}"
        given = f"resource_assigned.mem={8388608 * nodes}kb resource_assigned.ncpus={cpus * nodes} "
        yield start, self.line(start, "S", job, there + given)
        end = start + used
        if fate > 0.98:
            yield end, self.line(end, "D", job, f"requestor={chance.choice('abc')}@login1.site.org")
        if fate < 0.1:
            high = " ".join(
                f"{word}:{chance.randrange(99)}" for word in ("hour", "day", "month", "max")
            )
            yield end, self.line(end, "L", "license", f"floating license {high}")
        kind = "R" if 0.1 < fate < 0.12 else "E"
        yield end, self.line(end, kind, job, there + self.used(end, nodes * cpus, used))

    def line(self, when: int, kind: str, job: str, text: str) -> str:
        """A record; its time is that of the server's own clock."""
        local = datetime.fromtimestamp(when, self.zone)
        return f"{local:%m/%d/%Y %H:%M:%S};{kind};{job};{text}\n"

    def about(self, ctime: int) -> str:
        """Who wants what."""
        chance = self.chance
        user = f"user{chance.randrange(300):03d}"
        account = (
            f'account="{chance.choice(("phys", "phys", "cfd", "bio chem"))}" '
            if chance.random() < 0.4
            else ""
        )
        return (
            f"user={user} group=g{user[-2:]} {account}project={quoted(chance.choice(PROJECTS))} "
            f"jobname={chance.choice(NAMES)} queue={chance.choice(QUEUES)} "
            f"ctime={ctime} qtime={ctime} etime={ctime} "
        )

    def asked(self, nodes: int, cpus: int, wanted: int) -> str:
        """The resources that a job wants."""
        site = quoted('{"energy": "low", "cap": 300}') if self.chance.random() < 0.01 else ""
        return (
            f"Resource_List.mem={8 * nodes}gb Resource_List.mpiprocs={nodes * cpus} "
            f"Resource_List.ncpus={nodes * cpus} Resource_List.nodect={nodes} "
            f"Resource_List.place=scatter:excl Resource_List.select={nodes}:ncpus={cpus}:mem=8gb "
            + (f"Resource_List.site={site} " if site else "")
            + f"Resource_List.walltime={clock(wanted)} "
        )

    def used(self, end: int, cpus: int, seconds: int) -> str:
        """What a job that ended has used."""
        chance = self.chance
        cput = int(seconds * cpus * chance.random())
        return (
            f"session={chance.randrange(1000, 400000)} end={end} "
            f"Exit_status={chance.choice((0, 0, 0, 0, 1, 127, 271, -29))} "
            f"resources_used.cpupercent={chance.randrange(100 * cpus)} "
            f"resources_used.cput={clock(cput)} resources_used.mem={chance.randrange(10**8)}kb "
            f"resources_used.ncpus={cpus} resources_used.vmem={chance.randrange(10**9)}kb "
            f"resources_used.walltime={clock(seconds)} eligible_time={clock(0)} run_count=1"
        )


def generate(path: Path, records: int, *, seed: int = 1, zone: str = "Europe/Zurich") -> None:
    """Write so many records to a file."""
    here = ZoneInfo(zone)
    server = Server(seed, here)
    lines = server.records(datetime(2026, 3, 2, tzinfo=here), every=2.0)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(itertools.islice(lines, records))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    generate(options.path, options.records, seed=options.seed)

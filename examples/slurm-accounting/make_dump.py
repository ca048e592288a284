"""Write an accounting dump as Slurm's sacct prints it, of an invented small cluster.

    python make_dump.py sacct.txt

is what ``sacct --allusers --duplicates --parsable2`` would have printed for two weeks of March, in
the local time of a cluster in Chicago, where clocks went forward on the 8th.  It holds what real
dumps hold: arrays, steps, requeues, jobs that wait or run or were cancelled, names with a delimiter
or a line break in them, a failed disk's half a line.  The same seed gives the same bytes.
"""

import argparse
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("America/Chicago")
FIELDS = (
    *("JobID", "JobIDRaw", "JobName", "User", "Account", "Partition", "QOS", "State", "ExitCode"),
    *("Submit", "Start", "End", "Elapsed", "Timelimit", "NNodes", "NCPUS", "ReqMem", "TotalCPU"),
    *("MaxRSS", "AllocTRES", "NodeList", "NTasks"),
)
# user: account, partition, cores, minutes, minutes of waiting, share of the CPUs that is used
USERS = {
    "ada": ("fluids", "batch", 32, 95, 12, 0.93),
    "bela": ("fluids", "batch", 64, 160, 55, 0.71),
    "chidi": ("genome", "long", 16, 900, 240, 0.48),
    "dana": ("genome", "batch", 8, 25, 6, 0.12),
    "emil": ("imaging", "gpu", 4, 70, 130, 0.60),
}
LIMITS = {"batch": 240, "long": 1440, "gpu": 180}
Row = dict[str, str]


def local(moment: datetime) -> str:
    """A time as sacct prints it: of the cluster's clocks, without a zone."""
    return moment.astimezone(ZONE).strftime("%Y-%m-%dT%H:%M:%S")


def clock(seconds: float) -> str:
    """A duration: ``D-HH:MM:SS``."""
    days, rest = divmod(int(seconds), 86_400)
    text = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}-{text}" if days else text


def job(number: int, user: str, submit: datetime, rng: random.Random) -> list[Row]:
    """A job that ran, and its steps."""
    account, partition, cores, minutes, waits, used = USERS[user]
    if submit.astimezone(ZONE).day == 11:
        waits *= 6  # half the nodes were down
    start = submit + timedelta(seconds=int(60 * waits * rng.expovariate(1)))
    limit = LIMITS[partition] * 60
    seconds = int(60 * minutes * rng.lognormvariate(0, 0.5))
    draw, state, code = rng.random(), "COMPLETED", "0:0"
    if seconds > limit:
        seconds, state, code = limit + 20, "TIMEOUT", "0:15"
    elif draw < 0.06:
        seconds, state, code = seconds // 8, "FAILED", f"{1 + int(draw * 100)}:0"
    elif draw < 0.08:
        state, code = "OUT_OF_MEMORY", "0:125"
    elif draw < 0.10:
        state = "CANCELLED by 2001"
    gpus = ",gres/gpu=1" if partition == "gpu" else ""
    busy = seconds * cores * used * rng.uniform(0.85, 1.0)
    shown: Row = {
        "JobID": str(number), "JobIDRaw": str(number), "JobName": f"{account}-{user}",
        "User": user, "Account": account, "Partition": partition, "QOS": "normal",
        "State": state, "ExitCode": code, "Submit": local(submit), "Start": local(start),
        "End": local(start + timedelta(seconds=seconds)), "Elapsed": clock(seconds),
        "Timelimit": clock(limit), "NNodes": "1", "NCPUS": str(cores), "ReqMem": f"{2 * cores}Gn",
        "TotalCPU": clock(busy), "AllocTRES": f"cpu={cores},mem={2 * cores}G,node=1{gpus}",
        "NodeList": f"c{rng.randrange(1, 17):02d}",
    }  # fmt: skip
    return [shown, *steps(shown, int(busy), rng)]


def steps(shown: Row, busy: int, rng: random.Random) -> list[Row]:
    """The batch script, Slurm's own external step, and the step that worked."""
    memory = int(shown["ReqMem"][:-2]) * rng.uniform(0.2, 0.9) * 2**20
    common = {name: shown[name] for name in ("Account", "Submit", "Start", "End", "Elapsed")}
    common |= {name: shown[name] for name in ("NNodes", "NCPUS", "AllocTRES", "NodeList")}
    common["State"] = "CANCELLED" if " by " in shown["State"] else shown["State"]
    told = (
        ("batch", "batch", shown["ExitCode"], 3, 5_120),
        ("extern", "extern", "0:0", 0, 1_024),
        ("0", "solve", shown["ExitCode"], busy - 3, int(memory)),
    )
    return [
        common | {
            "JobID": f"{shown['JobID']}.{step}", "JobIDRaw": f"{shown['JobIDRaw']}.{step}",
            "JobName": name, "ExitCode": code, "TotalCPU": clock(seconds), "MaxRSS": f"{rss}K",
            "NTasks": "1",
        }
        for step, name, code, seconds, rss in told
    ]  # fmt: skip


def accounting(rng: random.Random) -> list[Row]:
    """All rows in the order of submission."""
    begin = datetime(2026, 3, 2, 6, tzinfo=UTC)
    rows: list[Row] = []
    for n in range(240):
        submit = begin + timedelta(seconds=int((n + rng.random()) * 5040))
        made = job(48_000 + n, rng.choice(list(USERS)), submit, rng)
        first = made[0]
        if n == 20:
            first["JobName"] = "grid|fine"
        elif n == 40:
            first["JobName"] = "two\nlines"
        elif n == 60:  # its node failed, and Slurm ran it a second time
            lost = datetime.fromisoformat(first["Start"]).replace(tzinfo=ZONE)
            lost += timedelta(minutes=30)
            failed = {"State": "NODE_FAIL", "End": local(lost), "Elapsed": "00:30:00"}
            failed |= {"TotalCPU": "00:00:00", "MaxRSS": ""}
            made = [row | failed for row in made] + job(48_000 + n, first["User"], lost, rng)
        elif n in range(100, 108):  # an array: its tasks have ids of their own
            made = [
                row | {"JobID": row["JobID"].replace(str(48_000 + n), f"48100_{n - 99}")}
                for row in made
            ]
        rows += made
    waiting = {name: rows[0].get(name, "") for name in FIELDS} | {
        "State": "PENDING", "Submit": local(begin + timedelta(days=13, hours=23)),
        "Start": "Unknown", "End": "Unknown", "Elapsed": "00:00:00", "AllocTRES": "",
        "Timelimit": "Partition_Limit", "TotalCPU": "00:00:00", "NodeList": "None assigned",
    }  # fmt: skip
    running = waiting | {"State": "RUNNING", "Start": waiting["Submit"], "Elapsed": "00:40:00"}
    array = waiting | {"JobID": "48250_[3-20%2]", "JobIDRaw": "48250"}
    return [
        *rows, waiting | {"JobID": "48240", "JobIDRaw": "48240"},
        running | {"JobID": "48241", "JobIDRaw": "48241", "NodeList": "c03"}, array,
    ]  # fmt: skip


def main() -> None:
    """Write the dump to the file given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    file: Path = parser.parse_args().file
    rows = accounting(random.Random(2026))  # noqa: S311 - no secret is made of it
    lines = ["|".join(row.get(name, "") for name in FIELDS) for row in rows]
    lines[500] = lines[500][:70]  # what the disk kept of it
    file.write_text("\n".join(["|".join(FIELDS), *lines, ""]), encoding="utf-8")
    print(f"written to {file}")


if __name__ == "__main__":
    main()

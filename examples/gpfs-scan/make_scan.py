"""Write two policy lists of an invented GPFS file system, a month apart.

    python make_scan.py DIRECTORY

writes DIRECTORY/scans/20260111.list and 20260211.list, as the policy rule

    RULE 'files' LIST 'all'
      SHOW('|size=' || varchar(file_size) || '|kballoc=' || varchar(kb_allocated) ||
           '|access=' || varchar(access_time) || ...)

with ESCAPE '%/' leaves them: about 3,000 files of six users.  In between some were deleted, some
written, renamed or made; bela's pilot was removed, and ada began a climate project, with one
forcing file copied to each of its members.  There are hard links, names that scripts stumble over,
a time in the future and one damaged line.  DIRECTORY/passwd names the users.  The same seed gives
the same bytes.
"""

import argparse
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote_from_bytes

FIRST = datetime(2026, 1, 11, tzinfo=UTC)
MONTH = timedelta(days=31)
ROOT = b"/gpfs/demo"
# user: uid, top-level directory, files, typical bytes, typical age in days
USERS = {
    "ada": (5001, b"projects/fluids", 700, 4_000_000, 40),
    "bela": (5002, b"projects/fluids", 400, 20_000_000, 200),
    "chidi": (5003, b"projects/genome", 900, 900_000, 500),
    "dana": (5004, b"home/dana", 500, 9_000, 300),
    "emil": (5005, b"scratch/emil", 450, 60_000_000, 20),
    "left": (5006, b"home/left", 120, 300_000, 1500),
}
ENDINGS = (b".nc", b".h5", b".fastq.gz", b".py", b".log", b".txt", b"")
ODD = (b"with space ", b"new\nline", b"caf\xc3\xa9", b"bad\xff\xfebyte", b"a -- b", b"100%done")


class File:
    """A file that ages: what a line of a list says of it."""

    def __init__(self, inode: int, user: str, rng: random.Random):
        uid, top, _, size, days = USERS[user]
        self.inode, self.uid = inode, uid
        self.size = int(size * rng.lognormvariate(0, 1.5))
        name = b"run%d%s" % (inode, rng.choice(ENDINGS))
        if rng.random() < 0.01:
            name = rng.choice(ODD) + b"%d" % inode
        self.paths = [b"/".join((ROOT, top, b"d%02d" % rng.randrange(12), name))]
        if rng.random() < 0.01:  # a hard link
            self.paths.append(b"/".join((ROOT, top, b"links", b"%d" % inode)))
        age = timedelta(days=days * rng.expovariate(1), seconds=rng.randrange(86_400))
        self.modify = FIRST - age
        self.access = self.modify + age * rng.random()

    def lines(self) -> list[bytes]:
        """A line per path."""
        pool = b"capacity" if self.size > 50_000_000 else b"data"
        show = "|".join(
            f"{key}={value}"
            for key, value in (
                ("size", self.size), ("kballoc", -(-self.size // 16_384) * 16),
                ("access", f"{self.access:%Y-%m-%d %H:%M:%S.%f}"),
                ("modify", f"{self.modify:%Y-%m-%d %H:%M:%S.%f}"),
                ("uid", self.uid), ("gid", 600), ("nlink", len(self.paths)),
            )
        )  # fmt: skip
        text = quote_from_bytes(f"|{show}|pool=".encode() + pool + b"|misc=FAu|", "")
        return [
            f"{self.inode} {self.inode * 7919 % 2**31} 0  {text} -- {quote_from_bytes(p)}".encode()
            for p in self.paths
        ]


def made(inode: int, uid: int, path: bytes, size: int, when: datetime) -> File:
    """A file whose values are given."""
    file = File(inode, "ada", random.Random(inode))  # noqa: S311 - no secret is made of it
    file.uid, file.paths, file.size = uid, [b"/".join((ROOT, path))], size
    file.modify = file.access = when
    return file


def pilot() -> list[File]:
    """What bela had tried out, and removed within the month."""
    when = FIRST - timedelta(days=100)
    return [
        made(95_000 + n, 5002, b"projects/pilot/try%d.nc" % n, 30_000_000 + n, when)
        for n in range(20)
    ]


def climate() -> list[File]:
    """A project of members that each have a copy of the forcing, and one clock that is wrong."""
    when = FIRST + 0.9 * MONTH
    forcing = [
        made(96_000 + n, 5001, b"projects/climate/member%d/forcing.nc" % n, 3_600_000_000, when)
        for n in range(4)
    ]
    ahead = FIRST + timedelta(days=3650)
    return [*forcing, made(96_100, 5001, b"projects/climate/notes.txt", 3_000, ahead)]


def a_month_passes(files: list[File], rng: random.Random) -> list[File]:
    """The files that are there a month later."""
    later = []
    for file in files:
        draw = rng.random()
        if draw < 0.03 or (file.uid == 5005 and draw < 0.25):
            continue  # deleted; scratch is cleaned
        when = FIRST + rng.random() * MONTH
        if draw > 0.95:
            file.size, file.modify, file.access = int(file.size * 1.4) + 17, when, when
        elif draw > 0.85:
            file.access = when
        elif draw > 0.83:
            file.paths[0] += b".old"
        later.append(file)
    for n in range(260):
        file = File(90_000 + n, rng.choice(("ada", "ada", "emil")), rng)
        file.modify = file.access = FIRST + rng.random() * MONTH
        later.append(file)
    return later


def write(path: Path, files: list[File], scan: datetime) -> None:
    """A list with header and trailer; its 500th line is damaged."""
    lines = [line for file in files for line in file.lines()]
    lines[499] = lines[499][:40]
    head = f"# host: demo\n# scan: {scan:%Y-%m-%dT%H:%M:%SZ}\n".encode()
    path.write_bytes(head + b"\n".join(lines) + f"\n# end rows={len(lines)}\n".encode())


def main() -> None:
    """Write both lists below the directory given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    directory: Path = parser.parse_args().directory
    (directory / "scans").mkdir(parents=True, exist_ok=True)
    rng = random.Random(20260111)  # noqa: S311 - no secret is made of it
    owners = [name for name, (_, _, count, *_) in USERS.items() for _ in range(count)]
    files = [File(40_000 + n, name, rng) for n, name in enumerate(owners)]
    write(directory / "scans/20260111.list", [*files, *pilot()], FIRST)
    later = [*a_month_passes(files, rng), *climate()]
    write(directory / "scans/20260211.list", later, FIRST + MONTH)
    names = [f"{n}:x:{uid}:600::/:/bin/sh\n" for n, (uid, *_) in USERS.items() if n != "left"]
    (directory / "passwd").write_text("".join(names))
    print(f"written to {directory}")


if __name__ == "__main__":
    main()

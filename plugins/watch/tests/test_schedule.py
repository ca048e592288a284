"""What ``harvest schedule`` prints, read by the programs that it is for, or by their rules."""

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from commands import harvest_here
from datasets import dump
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from harvest.cli.app import app
from harvest.errors import UsageError
from harvest.plugins.registry import manager
from harvest_watch.forms import FORMS, Entry, for_cron, for_systemd
from harvest_watch.times import Times

HOSTILE = [
    "a b", "it's", 'say "so"', "100%", "%h%%n", "$HOME", "${X}", "`id`", "$(id)", "a;b&c|d", "*",
    "~", "#no", "ü", "", " ", "-x", "a=b", "!", "%", "'%'", "{a,b}",
]  # fmt: skip
ALWAYS = Times.parse("1h")
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

with_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="needs systemd-analyze"
)


def entry(*arguments, program="/opt/harvest", directory="/srv", times=ALWAYS):
    return Entry(
        name="night", times=times, program=[program], arguments=arguments, directory=directory
    )


def line_of(text):
    """The one line of a crontab that is no comment."""
    (line,) = [line for line in text.splitlines() if not line.startswith("#")]
    return line


def cron_reads(line):
    """Time fields and command of a crontab line, as crontab(5) has it: ``%`` ends a command."""
    *fields, command = line.split(None, 5)
    command, *stdin = re.split(r"(?<!\\)%", command)
    assert not stdin
    return fields, command.replace("\\%", "%")


def run_by_shell(command, cwd):
    """What a shell makes of a command whose program tells where it runs and with which words."""
    done = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, cwd=cwd, check=True, text=True
    )
    where, *words = done.stdout.split("\0")[:-1]
    return where, words


@pytest.fixture
def program(tmp_path):
    """A program that prints its directory and its words."""
    folder = tmp_path / "bin of 'me' 50%"
    folder.mkdir()
    path = folder / "harvest"
    path.write_text('#!/bin/sh\nprintf "%s\\0" "$PWD" "$@"\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("form", ["cron", "slurm"])
def test_a_shell_gets_every_hostile_word_as_it_is(form, program, tmp_path):
    directory = tmp_path / 'runs of "x" & $y 100%'
    directory.mkdir()
    made = entry(*HOSTILE, program=str(program), directory=str(directory))

    line = line_of(FORMS[form](made))

    assert run_by_shell(cron_reads(line)[1], tmp_path) == (str(directory), HOSTILE)
    if form == "slurm":  # to which a percent sign means nothing
        assert run_by_shell(line.split(None, 5)[5], "/") == (str(directory), HOSTILE)


@pytest.mark.slow
@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"])))
def test_any_word_without_a_backslash_survives_cron_and_the_shell(word):
    if "\\" in word:
        with pytest.raises(UsageError, match="backslash"):
            for_cron(word)
        return
    _, command = cron_reads(f"* * * * * {for_cron(word)}")
    assert shlex.split(command) == [word]


@pytest.mark.parametrize("word", ["a\nb", "a\rb", "a\0b", "a\x1bb", "a\u2028b", "\udcff"])
@pytest.mark.parametrize("quote", [for_cron, for_systemd])
def test_what_a_line_cannot_hold_is_refused(quote, word):
    with pytest.raises(UsageError, match="recipe"):
        quote(word)


def test_a_command_longer_than_crons_take_is_refused():
    with pytest.raises(UsageError, match="--print-config"):
        entry("x" * 2000).cron()


def matches(expression, moment):
    """Whether a cron expression means a minute: crontab(5), written anew."""

    def number(text, names, first):
        return names.index(text.lower()) + first if text.lower() in names else int(text)

    def field(text, value, lowest, highest, names=(), first=0):
        for item in text.split(","):
            span, _, step = item.partition("/")
            a, _, b = span.partition("-")
            low = lowest if a == "*" else number(a, names, first)
            high = highest if a == "*" else number(b or a, names, first)
            if value in range(low, high + 1, int(step or 1)):
                return True
        return False

    minute, hour, day, month, weekday = expression.split()
    day_fits = field(day, moment.day, 1, 31)
    sunday_first = moment.isoweekday() % 7
    weekday_fits = field(weekday, sunday_first, 0, 6, DAYS) or (
        sunday_first == 0 and field(weekday, 7, 0, 7, DAYS)
    )
    either = not day.startswith("*") and not weekday.startswith("*")
    return (
        field(minute, moment.minute, 0, 59)
        and field(hour, moment.hour, 0, 23)
        and field(month, moment.month, 1, 12, MONTHS, 1)
        and (day_fits or weekday_fits if either else day_fits and weekday_fits)
    )


@pytest.mark.parametrize(
    ("words", "gap"),
    [("15m", timedelta(minutes=15)), ("24h", timedelta(days=1)), ("1w", timedelta(weeks=1))],
)  # fmt: skip
def test_an_interval_comes_evenly(words, gap):
    times = Times.parse(words)
    start = datetime(2026, 3, 1, tzinfo=UTC)
    minutes = range(60 * 24 * 15)
    met = [m for n in minutes if matches(times.cron, m := start + timedelta(minutes=n))]
    assert {b - a for a, b in itertools.pairwise(met)} == {gap}


@pytest.mark.parametrize(
    "words",
    ["", "7m", "5h", "2d", "90s", "0m", "now", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *",
     "* * 0 * *", "* * * 13 *", "* * * * 8", "*/0 * * * *", "5-1 * * * *", "5/2 * * * *",
     "a * * * *", "1,,2 * * * *", "0 0 31 2 *", "@reboot", "* * * * *\n* * * * *"],
)  # fmt: skip
def test_what_says_no_time_is_refused_with_a_remedy(words):
    with pytest.raises(UsageError) as refused:
        Times.parse(words)
    assert refused.value.remedy


@pytest.mark.slow
@with_systemd
@pytest.mark.parametrize(
    "words",
    ["15m", "1w", "5 3 * * 1-5", "0 12 1,15 * *", "30 4 13 * fri", "0 0 */10 * mon",
     "59 23 28-31 jan,feb *", "0 6 * * 7", "10-20/5 */8 * 6 sun,2"],
)  # fmt: skip
def test_systemd_means_the_minutes_that_cron_means(words):
    times = Times.parse(words)
    start = datetime(2027, 1, 1, tzinfo=UTC)
    steps = (start + timedelta(minutes=n) for n in range(1, 60 * 24 * 400))
    expected = list(itertools.islice((m for m in steps if matches(times.cron, m)), 4))

    found = set()
    for calendar in times.calendars():
        said = subprocess.run(
            ["systemd-analyze", "calendar", "--iterations=4",
             f"--base-time={start:%Y-%m-%d %H:%M:%S} UTC", calendar],
            capture_output=True, text=True, check=True, env=os.environ | {"TZ": "UTC"},
        ).stdout  # fmt: skip
        stamps = re.findall(r"(?:elapse|#\d+): \w{3} ([\d-]+ [\d:]+) UTC", said)
        found |= {datetime.strptime(f"{stamp} +0000", "%Y-%m-%d %H:%M:%S %z") for stamp in stamps}

    assert sorted(found)[: len(expected)] == expected


@with_systemd
def test_systemd_reads_the_words_and_the_directory_as_they_are(tmp_path):
    folder = tmp_path / "p  a%n ü;"
    folder.mkdir()
    program = folder / "harvest"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    words = [*HOSTILE, "back\\slash\\n", "end\\"]
    directory = tmp_path / "d 'x' \"y\" %h $z\\n "
    directory.mkdir()
    made = entry(*words, program=str(program), directory=str(directory)).systemd()
    _, *units = re.split(r"^# ~/\.config.*/night\.\w+\n", made, flags=re.M)
    for name, text in zip(("night.service", "night.timer"), units, strict=True):
        (tmp_path / name).write_text(text)
    (tmp_path / "runtime").mkdir()
    runtime = {"XDG_RUNTIME_DIR": str(tmp_path / "runtime"), "SYSTEMD_LOG_LEVEL": "debug"}

    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", "night.service", "night.timer"],
        capture_output=True, text=True, check=False, cwd=tmp_path, env=os.environ | runtime,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    (line,) = re.findall(r"Command Line: (.*)", done.stdout)
    # systemd shows it after specifiers, before variables, quoted for a shell
    shown = [re.sub(r"\\([$`])", r"\1", word) for word in shlex.split(line)]
    assert [word.replace("$$", "$") for word in shown] == [str(program), *words]
    assert f"WorkingDirectory: {directory}\n" in done.stdout


def test_a_program_that_systemd_refuses_is_refused_here():
    for odd in "'\"\\$":
        with pytest.raises(UsageError, match="cron"):
            entry(program=f"/opt/{odd}/harvest").systemd()


@pytest.mark.slow
@pytest.mark.parametrize("code", [0, 3, 4])
def test_a_report_follows_a_run_that_committed(code, tmp_path):
    # given a program whose runs end with a code, and that keeps its words
    program = tmp_path / "harvest"
    program.write_text(f"""#!/bin/sh
echo "$@" >> calls
[ "$1" = report ] || exit {code}
""")
    program.chmod(0o755)
    arguments, after = ("run", "night.toml"), ("report", "slurm.usage", "out", "--output=a b%.html")
    made = Entry(
        name="night", times=ALWAYS, program=[str(program)], arguments=arguments,
        directory=str(tmp_path), after=after,
    )  # fmt: skip

    _, command = cron_reads(line_of(made.cron()))
    done = subprocess.run(["/bin/sh", "-c", command], cwd="/", check=False)

    # then 0 and 3, which is committed with rejects, have a report, and the run's code is kept
    assert done.returncode == code
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls == [" ".join(words) for words in (arguments, after)][: 1 if code == 4 else 2]
    # and systemd makes the second call where the first succeeded
    assert [line for line in made.systemd().splitlines() if line.startswith("ExecStart")] == [
        f"ExecStart={program} run night.toml",
        f'ExecStart={program} report slurm.usage out "--output=a b%%.html"',
    ]


@pytest.mark.slow
def test_the_printed_line_harvests_and_writes_the_report(tmp_path):
    here = tmp_path / "it's 100% here"
    (here / "my dumps").mkdir(parents=True)
    (here / "my dumps" / "a.txt").write_text(dump(1, 2))
    (here / "page.json").write_text("{}")  # from the second time on there is a report already
    told = harvest_here(
        *("schedule", "-s", "slurm:my dumps", "-k", "parquet:out", "--set", "slurm.timezone=UTC"),
        *("--workers", "1", "--every", "5 4 * * *"),
        *("--report", "slurm.usage:by=account", "-o", "page.json"),
        cwd=here,
    )
    fields, command = cron_reads(line_of(told.stdout))
    assert fields == ["5", "4", "*", "*", "*"]
    assert str(Path(sys.executable).parent) in command

    subprocess.run(["/bin/sh", "-c", command], cwd="/", check=True, capture_output=True)

    made = json.loads((here / "page.json").read_text())
    assert (made["report"], made["made_from"]["Settings"]) == ("slurm.usage", "by=account")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--report", "slurm.usage"), "belong together"),
        (("-o", "page.html"), "belong together"),
        (("--report", "slurm.usag", "--output", "x.html"), "slurm.usage"),
        (("--report", "slurm.usage:bx=a", "--output", "x.html"), "no setting 'bx'"),
        (("--report", "slurm.usage:by", "--output", "x.html"), "no KEY=VALUE"),
        (("--report", "slurm.usage", "--output", "x.html", "-k", "parquet:b"), "2 sinks"),
    ],
)
def test_a_report_that_would_fail_at_night_is_refused(more, said, printed):
    with pytest.raises(UsageError) as refused:
        printed(*more)
    assert said in str(refused.value)
    assert refused.value.remedy


@pytest.fixture
def printed(tmp_path, monkeypatch, capsys):
    """Prints an entry by the words of the command line; gives the words that cron would run."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(dump(1))
    monkeypatch.chdir(tmp_path)

    def words(*more):
        given = ["schedule", "-s", "slurm:in", "-k", "parquet:out", "--every", "1h", *more]
        done = CliRunner().invoke(app, given, standalone_mode=False)
        if done.exception:
            raise done.exception
        return shlex.split(cron_reads(line_of(done.stdout))[1])

    return words


@pytest.mark.parametrize("name", sorted(manager().exporters))
def test_an_export_without_a_password_is_no_secret(name, printed):
    targets = [f"{name}:first", f"{name}:second one"]
    found = printed("--export", targets[0], "--export", targets[1], "--keep-runs", "2")
    assert [word for word in found if word.startswith("--export")] == [
        f"--export={target}" for target in targets
    ]
    assert "--keep-runs=2" in found


def test_the_path_of_a_file_with_passwords_is_printed(printed):
    uri = "distiller:postgresql://me@db/d?passfile=/home/me/.pgpass"
    assert f"--source={uri}" in printed("-s", uri)


@pytest.mark.parametrize(
    "more",
    [
        ("--export", "duckdb:x.duckdb", "--export", "postgresql://me:s3cret@db/d"),
        ("--export", "postgresql://db/d?sslpassword=s3cret"),
        ("-s", "distiller:postgresql://me:s3cret@db/d"),
    ],
)
def test_a_password_is_not_printed(more, printed):
    with pytest.raises(UsageError, match="password") as refused:
        printed(*more)
    assert "s3cret" not in str(refused.value)


def test_a_wrong_name_is_found(printed):
    with pytest.raises(UsageError, match="steam"):
        printed("--engine", "steam")

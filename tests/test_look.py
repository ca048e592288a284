"""A directory that nobody described, and a dataset that somebody else made: what is in them."""

import json
import shlex
import subprocess
import sys

import pytest
from commands import harvest_here
from hypothesis import example, given
from hypothesis import strategies as st

import harvest
from harvest.plugins.registry import manager
from harvest.recipes.survey import best, survey

SACCT = "JobID|State|User\n1|COMPLETED|ada\n2|FAILED|tim\n"


@pytest.mark.slow
def test_the_command_that_it_names_harvests_all_of_it(everything, tmp_path):
    """The places that are named give the rows that each source's own directory gives."""
    places = [str(endpoint) for endpoint in survey(everything.parent / "in", manager()).endpoints]

    zone = {"slurm": {"timezone": "UTC"}}
    harvest.run(places, f"parquet:{tmp_path / 'out'}", settings=zone, workers=1)

    assert harvest.open(tmp_path / "out").record_types == harvest.open(everything).record_types


def test_the_command_line_shows_a_command_that_works_and_runs_it(tmp_path):
    (tmp_path / "my logs").mkdir()
    (tmp_path / "my logs" / "sacct.txt").write_text(SACCT)

    shown = harvest_here("look", "my logs", cwd=tmp_path).stdout
    command = shown.partition("to harvest all of it:")[2].partition("then:")[0]
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:2] == ["harvest", "run"]
    assert harvest_here(*words[1:], cwd=tmp_path).returncode == 0
    done = harvest_here("look", "my logs", "--run", "other", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert [harvest.open(tmp_path / name).record_types for name in ("out", "other")] == [
        {"slurm.job": 2},
        {"slurm.job": 2},
    ]
    assert "  harvest report slurm.summary out" in shown.splitlines()


def test_a_tree_that_nobody_knows_ends_with_1(tmp_path):
    (tmp_path / "a.tex").write_text("words")

    done = harvest_here("look", tmp_path)

    assert done.returncode == 1
    assert "no installed source recognises anything" in done.stdout
    assert json.loads(harvest_here("look", tmp_path, "--json").stdout)["unknown"][0]["files"] == 1


def test_a_dataset_says_what_it_holds_and_what_can_be_asked_of_it(tmp_path):
    (tmp_path / "sacct.txt").write_text(SACCT + "?|?\n")
    harvest.run([f"slurm:{tmp_path / 'sacct.txt'}"], f"parquet:{tmp_path / 'out'}", workers=1)

    document = json.loads(harvest_here("show", tmp_path / "out", "--json").stdout)
    shown = harvest_here("show", tmp_path / "out").stdout

    assert (document["rows"], document["inputs"], document["rejects"]) == (2, 1, 1)
    (kind,) = document["record_types"]
    assert (kind["name"], kind["rows"], kind["sources"]) == ("slurm.job", 2, ["slurm"])
    files = (tmp_path / "out" / "slurm.job").iterdir()
    assert document["size_bytes"] == sum(file.stat().st_size for file in files)
    assert set(document["views"]) == set(harvest.open(tmp_path / "out").views())
    assert "2 rows from 1 input" in shown
    assert "1 input unit could not be read: harvest rejects" in shown
    assert f"  harvest report slurm.summary {tmp_path / 'out'}" in shown.splitlines()


def test_answers_say_how_much_of_their_input_could_not_be_read(tmp_path):
    # given a dump with a line that cannot be read, and a log of another kind that cannot either
    (tmp_path / "sacct.txt").write_text(SACCT + "?|?\n")
    (tmp_path / "a.darshan").write_bytes(b"no log")
    sources = [f"slurm:{tmp_path / 'sacct.txt'}", f"darshan:{tmp_path / 'a.darshan'}"]
    out = tmp_path / "out"
    harvest.run(sources, f"parquet:{out}", workers=1)

    one, both = (
        f"{many} could not be read: harvest rejects {out}"
        for many in ("1 input unit", "2 input units")
    )

    # then what is about jobs counts the line alone
    assert harvest.open(out).report("slurm.usage").sections[-1].items == (one,)
    for words in (["view", "slurm.usage"], ["report", "slurm.usage", "-o", tmp_path / "a.csv"]):
        assert harvest_here(*words[:2], out, *words[2:]).stderr == f"harvest: {one}\n"
    for words in (["findings", out], ["query", out, "select 1"]):
        assert f"harvest: {both}\n" in harvest_here(*words).stderr


ODD_NAMES = ["-rf", "two words", "it's", "a\nb", "$(touch x)", "a\tb\\n", "caf\u00e9 \U0001f52c"]


@pytest.mark.slow
def test_the_command_works_in_a_shell_whatever_the_names_of_files(tmp_path):
    """Given dumps whose names a shell or a terminal would take for something else."""
    for number, name in enumerate(ODD_NAMES):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / f"{name}.txt").write_text(
            f"JobID|State|User\n{number}|COMPLETED|ada\n"
        )
        (tmp_path / "in" / name / "README").write_text("words\n")

    shown = harvest_here("look", "in", cwd=tmp_path).stdout
    command = shown.partition("to harvest all of it:")[2].partition("then:")[0]
    tool = f'harvest() {{ {shlex.quote(sys.executable)} -m harvest "$@"; }}\n'
    done = subprocess.run(
        ["bash", "-c", tool + command], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    jobs = harvest.open(tmp_path / "out")["slurm.job"].collect()
    assert sorted(jobs["job_id"]) == [str(number) for number in range(len(ODD_NAMES))]


def test_a_source_gets_the_fewest_places_and_none_with_files_of_another(tmp_path):
    (tmp_path / "logs" / "old").mkdir(parents=True)
    for place in ("jobs.txt", "logs/may.txt", "logs/old/april.txt"):
        (tmp_path / place).write_text(SACCT)
    (tmp_path / "128x128.csv").write_text("id,slurm_id,elapsed\n1,2,00:01:00\n")

    found = {known.source: known for known in survey(tmp_path, manager()).known}

    assert (found["slurm"].files, found["slurm"].size_bytes) == (3, 3 * len(SACCT))
    assert [str(place.relative_to(tmp_path)) for place in found["slurm"].locations] == [
        "jobs.txt", "logs", "logs/old",
    ]  # fmt: skip


def test_a_path_by_way_of_a_parent_directory_is_the_same_tree(tmp_path):
    for folder in ("in", "beside"):
        (tmp_path / folder).mkdir()
    (tmp_path / "in" / "sacct.txt").write_text(SACCT)

    straight = survey(tmp_path / "in", manager())
    around = survey(tmp_path / "beside" / ".." / "in", manager())

    assert around == straight
    assert [known.source for known in around.known] == ["slurm"]


def test_links_in_a_circle_and_links_that_lead_nowhere_end(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "sacct.txt").write_text(SACCT)
    (tmp_path / "in" / "again").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "lost").symlink_to(tmp_path / "nowhere")

    found = survey(tmp_path / "in", manager())

    assert [known.files for known in found.known] == [1]
    assert [group.example.name for group in found.unknown] == ["lost"]


def test_a_dataset_below_it_is_named_and_not_entered(tmp_path):
    """Given what a first look's command leaves: its own dataset among the inputs."""
    (tmp_path / "sacct.txt").write_text(SACCT)
    first = survey(tmp_path, manager())
    harvest.run([f"slurm:{tmp_path}"], f"parquet:{tmp_path / 'out'}", workers=1)

    found = survey(tmp_path, manager())

    assert found.datasets == (tmp_path / "out",)
    assert (found.known, found.unknown) == (first.known, first.unknown)
    assert "out holds a dataset" in harvest_here("look", tmp_path).stdout


def test_a_dataset_itself_is_named_and_not_entered(tmp_path):
    (tmp_path / "sacct.txt").write_text(SACCT)
    harvest.run([f"slurm:{tmp_path / 'sacct.txt'}"], f"parquet:{tmp_path / 'out'}", workers=1)

    found = survey(tmp_path / "out", manager())

    assert (found.datasets, found.unknown) == ((tmp_path / "out",), ())
    done = harvest_here("look", tmp_path / "out")
    assert (done.returncode, "out holds a dataset" in done.stdout) == (1, True)


def test_the_state_of_a_dataset_is_none_of_the_files(tmp_path):
    """Given a run that commits nothing, and a dataset that is one file."""
    (tmp_path / "sacct.txt").write_text(SACCT)
    (tmp_path / "bad.txt").write_text("JobID|State\n1\n")
    first = survey(tmp_path, manager())
    with pytest.raises(harvest.HarvestError):
        harvest.run(
            [f"slurm:{tmp_path / 'bad.txt'}"], f"parquet:{tmp_path / 'out'}", on_error="fail"
        )
    harvest.run([f"slurm:{tmp_path / 'sacct.txt'}"], f"jsonl:{tmp_path / 'one.jsonl'}", workers=1)
    (tmp_path / "one.jsonl").unlink()

    found = survey(tmp_path, manager())

    assert (tmp_path / "out" / "_harvest").is_dir()
    assert (tmp_path / "one.jsonl._harvest").is_dir()
    assert (found.known, found.unknown) == (first.known, first.unknown)


@given(
    st.binary(max_size=200) | st.text("\"',;|\t\r\n\0 aJobIDState%2", max_size=60).map(str.encode)
)
@example(b'"JobID"\r,State\n')
@example(b'MDHIM-\r|"State"')
def test_any_bytes_are_looked_at_by_every_source_without_an_error(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(data)
    for candidate in best(path, PLUGINS):
        assert 0 < candidate.confidence <= 1


PLUGINS = manager()

"""What programs are answered is what the page of the documentation shows."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from scripts import run_script
from serving import Server, harvest_served_here, serving

import harvest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "how-to" / "serve.md").read_text()
EXAMPLES = re.findall(r"```http\n(GET|POST) (\S+)\n(.*?)```\n\n```json\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of the example's accounting dump, called ``jobs``."""
    folder = tmp_path_factory.mktemp("jobs")
    dump = folder / "sacct.txt"
    maker = ROOT / "examples" / "slurm-accounting" / "make_dump.py"
    run_script(maker, dump)
    settings = {"slurm": {"timezone": "America/Chicago"}}
    harvest.run(f"slurm:{dump}", f"parquet:{folder / 'jobs'}", settings=settings, workers=1)
    with serving(folder / "jobs") as server:
        yield server


def shows(shown: Any, answered: Any) -> bool:
    """Whether an answer is what is shown, where ``...`` stands for anything, or for more."""
    if shown == "...":
        return True
    if isinstance(shown, dict):
        return (
            isinstance(answered, dict)
            and shown.keys() == answered.keys()
            and all(shows(value, answered[key]) for key, value in shown.items())
        )
    if isinstance(shown, list) and isinstance(answered, list):
        if shown[-1:] == ["..."]:
            shown = shown[:-1]
            answered = answered[: len(shown)]
        return len(shown) == len(answered) and all(map(shows, shown, answered))
    return bool(shown == answered)


@pytest.mark.parametrize(("method", "path", "body", "shown"), EXAMPLES)
def test_every_example_is_what_is_answered(jobs, method, path, body, shown):
    answer = jobs.ask(path, method=method, body=body or None)

    assert shows(json.loads(shown), answer.json), answer.text


def test_there_is_an_example_of_each_address():
    shown = {re.sub(r"\?.*", "", path) for _, path, _, _ in EXAMPLES}
    kinds = {re.sub(r"slurm\.\w+", "NAME", path).replace("jobs", "DATASET") for path in shown}

    assert {f"/api/DATASET/{rest}" for rest in (
        *("tables/NAME", "tables/NAME/rows", "tables/NAME/facets", "sql", "findings"),
        "reports/NAME",
    )} == kinds  # fmt: skip


@pytest.mark.slow
def test_the_python_example_reads_arrow(jobs):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SERVED": jobs.address, "TOKEN": str(jobs.token)},
    )

    assert done.stderr == ""
    assert done.stdout == "243\n"


def rounded(value: Any) -> Any:
    """Sums of fractions, whose last digit is that of the order in which they were added."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


@pytest.mark.slow(night=True)
def test_findings_and_reports_are_those_of_the_command_line(jobs):
    location = jobs.ask("/api/").json["datasets"][0]["location"]

    def told(*words: str) -> Any:
        done = harvest_served_here(*words)
        return rounded(json.loads(done.stdout))

    findings = rounded(jobs.ask("/api/jobs/findings").json)
    for each in findings["findings"]:
        assert len(each.pop("first")) == min(each["rows"], 10)
    said = told("findings", location, "--json")
    assert {key: findings[key] for key in said} == said
    report = rounded(jobs.ask("/api/jobs/reports/slurm.usage?set.by=account").json)
    said = told("report", "slurm.usage", location, "--set", "by=account", "--json")
    assert {key: report[key] for key in said} == said
    shown = jobs.ask("/api/jobs").json
    said = told("show", location, "--json")
    assert {key: shown[key] for key in said} == said


def test_slurm_alone_is_not_offered_the_comparison_of_a_study(jobs):
    offered = [each["name"] for each in jobs.ask("/api/jobs/reports").json["reports"]]
    shown = jobs.ask("/api/jobs").json

    assert "slurm.usage" in offered
    assert shown["reports"] == offered
    assert not [name for name in (*offered, *shown["views"]) if name.startswith("ncem.")]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/nothing", 404),
        ("/api/jobs/tables/slurm.nothing", 404),
        ("/api/jobs/reports/nothing", 404),
        ("/api/jobs/tables/slurm.job/rows?nope=1", 400),
        ("/api/jobs/tables/slurm.job/rows?limit=-1", 400),
        ("/api/jobs/tables/slurm.usage/rows?set.nothing=1", 400),
        ("/api/jobs/reports/slurm.usage?set.top=many", 400),
    ],
)
def test_an_error_says_what_is_wrong_and_what_to_do(jobs, path, status):
    answer = jobs.ask(path)

    assert answer.status == status, answer.text
    assert answer.json["message"]
    assert answer.json["remedy"]
    assert "Traceback" not in answer.text


@pytest.mark.slow
def test_evidence_of_a_finding_is_its_view_where_it_says(jobs):
    findings = jobs.ask("/api/jobs/findings").json["findings"]
    for found in {each["view"]: each for each in findings}.values():
        given = {"condition": found["where"], "limit": "0"}
        given |= {f"set.{key}": value for key, value in found["settings"].items()}
        query = "&".join(f"{key}={quote(value)}" for key, value in given.items())
        answer = jobs.ask(f"/api/jobs/tables/{found['view']}/rows?{query}")

        assert answer.json["total"] == found["rows"], answer.text

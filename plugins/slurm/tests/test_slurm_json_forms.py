"""Forms in which people bring Slurm's JSON, and what it says of itself."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from test_slurm_json import harvest, make_job, write

import harvest as harvest_api
from harvest_slurm.source import SlurmSource

ERROR = {
    "description": "Failure to query jobs",
    "error_number": 7000,
    "error": "Unable to contact slurm database",
    "source": "slurmdb_jobs_get",
}
SAID = "error: Failure to query jobs: Unable to contact slurm database (7000, slurmdb_jobs_get)"
JOBS = [make_job(n, "lists") for n in (1, 2, 3)]


def document(jobs: list[Any], **more: Any) -> dict[str, Any]:
    return {"meta": {"plugin": {"data_parser": "data_parser/v0.0.40"}}, "jobs": jobs, **more}


FORMS = {
    "an array of jobs": json.dumps(JOBS),
    "an array of jobs over many lines": json.dumps(JOBS, indent=2),
    "a job a line": "".join(json.dumps(job) + "\n" for job in JOBS),
    "jobs over many lines each": "\n".join(json.dumps(job, indent=4) for job in JOBS),
    "a document": json.dumps(document(JOBS)),
    "a document without indents, a job a line": '{"jobs": [\n'
    + ",\n".join(map(json.dumps, JOBS))
    + "\n]}",
    "documents one behind another": json.dumps(document(JOBS[:1]), indent=1)
    + json.dumps(document([]))
    + "\n\n"
    + json.dumps(document(JOBS[1:])),
    "an array of documents": json.dumps([document(JOBS[:2]), document(JOBS[2:])]),
    "a document, jobs and an array": json.dumps(document(JOBS[:1]))
    + json.dumps(JOBS[1])
    + json.dumps(JOBS[2:]),
    "with a byte order mark": "\ufeff" + json.dumps(JOBS),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_rows(tmp_path: Path, form: str) -> None:
    path = tmp_path / "jobs.json"
    text = FORMS[form].encode()
    path.write_bytes(gzip.compress(text) if form == "a document" else text)
    found = harvest(path)
    # each job counts 1, and each has one step, which counts 1 too
    assert not found.rejects
    assert [(r["position"], r["job_id"]) for r in found.rows("slurm.job")] == [
        (1, "1"), (3, "2"), (5, "3"),
    ]  # fmt: skip
    assert [(r["position"], r["job_position"]) for r in found.rows("slurm.step")] == [
        (2, 1), (4, 3), (6, 5),
    ]  # fmt: skip
    detected = SlurmSource.detect(path)
    assert detected is not None
    assert (detected.confidence, detected.reason) == (0.95, "sacct --json")


@pytest.mark.parametrize("lost", [1, 2, 5, 40, 300, 700])
def test_a_line_that_is_cut_off_costs_itself_alone(tmp_path: Path, lost: int) -> None:
    # given a job a line, the second of which was not written to its end
    lines = [json.dumps(job) for job in JOBS]
    lines[1] = lines[1][:-lost]
    path = tmp_path / "jobs.json"
    path.write_text("\n".join(lines) + "\n")
    found = harvest(path)
    assert [(r["position"], r["job_id"]) for r in found.rows("slurm.job")] == [(1, "1"), (4, "3")]
    (reject,) = found.rejects
    assert reject.position == 3
    assert reject.raw.rstrip(b"\n").decode() == lines[1]
    assert reject.reason == "it ends early: the next JSON begins on a line of its own"


def test_a_document_that_is_cut_off_keeps_the_next(tmp_path: Path) -> None:
    first = json.dumps(document(JOBS[:2]), indent=2)
    path = tmp_path / "jobs.json"
    path.write_text(
        first[: first.index('"job_id": 2') + 11] + "\n" + json.dumps(document(JOBS[2:]))
    )
    found = harvest(path)
    assert [row["job_id"] for row in found.rows("slurm.job")] == ["1", "3"]
    assert [reject.position for reject in found.rejects] == [3]


def test_text_between_documents_is_a_reject(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    path.write_text(f"{json.dumps(document(JOBS[:1]))}\nslurm_load: done\n{json.dumps(JOBS[1])} ]")
    found = harvest(path)
    assert [row["job_id"] for row in found.rows("slurm.job")] == ["1", "2"]
    assert [(r.position, r.raw) for r in found.rejects] == [(3, b"slurm_load: done"), (6, b"]")]


def test_an_input_of_errors_alone_is_a_reject_with_their_words(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(document([], errors=[ERROR])))
    found = harvest(path)
    assert found.notes == [f"sacct says: {SAID}"]
    (reject,) = found.rejects
    assert reject.reason == f"no job, since sacct says: {SAID}"
    assert json.loads(reject.raw) == ERROR


@pytest.mark.parametrize("first", [True, False])
def test_errors_and_warnings_beside_jobs_are_notes(tmp_path: Path, first: bool) -> None:
    said = {"errors": [ERROR], "warnings": [{"description": "QOS is unknown"}, "as text"]}
    whole = document(JOBS, **said)
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({**said, **whole} if first else whole))
    found = harvest(path)
    assert not found.rejects
    assert len(found.rows("slurm.job")) == 3
    assert found.notes == [
        f"sacct says: {SAID}",
        "sacct says: warning: QOS is unknown",
        'sacct says: warning: "as text"',
    ]


def test_many_warnings_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(document(JOBS, warnings=[{"description": "odd"}] * 23)))
    notes = harvest(path).notes
    assert notes == ["sacct says: warning: odd"] * 20 + ["sacct says: 3 more warnings"]


def test_what_sacct_says_is_a_finding(tmp_path: Path) -> None:
    # given a dataset of an input with an error, and of one that only warns
    write(tmp_path / "sound.json", JOBS)
    for name, said in (("failed", {"errors": [ERROR]}), ("warned", {"warnings": [ERROR]})):
        (tmp_path / f"{name}.json").write_text(json.dumps(document(JOBS, **said)))
    out = f"parquet:{tmp_path / 'out'}"
    for name in ("sound", "failed", "warned"):
        harvest_api.run([f"slurm:{tmp_path / name}.json"], out, workers=1)
    found = harvest_api.open(tmp_path / "out").findings().found
    (finding,) = [each for each in found if each.rule.name == "slurm.errors_reported"]
    assert finding.finding.severity == "high"
    assert finding.finding.text == (
        f"sacct reported errors in 1 input, so that jobs may be missing; the first is {SAID}."
    )
    assert finding.evidence.first["origin"].to_list() == [str(tmp_path / "failed.json")]


# --- the small inputs that failed once; the expected is counted in their text by plain Python


def raw_jobs(path: Path) -> list[Any]:
    data = json.loads(path.read_text())
    return list(data["jobs"] if isinstance(data, dict) else data)


@pytest.mark.parametrize("case", ["slurm-json-array", "slurm-json-step-id-object"])
def test_cases_give_each_job_and_step(shared_data: Path, case: str) -> None:
    path = shared_data / "cases" / f"{case}.json"
    if not path.exists():
        pytest.skip(f"the case {case} is absent")
    found = harvest(path)
    place, jobs, steps = 0, [], []
    for job in raw_jobs(path):
        place += 1
        above = place
        jobs.append((place, str(job["job_id"]), job["state"]["current"].lower()))
        for step in job["steps"]:
            place += 1
            ended = step["exit_code"]
            signal = ended.get("signal", {}).get("signal_id", 0)
            name = step["step"]["id"]["step_id"]
            steps.append((place, above, name, step["state"].lower(), ended["return_code"], signal))
    assert not found.rejects
    assert [(r["position"], r["job_id"], r["state"]) for r in found.rows("slurm.job")] == jobs
    columns = ("position", "job_position", "step_id", "state", "exit_code", "exit_signal")
    assert [tuple(row[c] for c in columns) for row in found.rows("slurm.step")] == steps
    assert SlurmSource.detect(path) is not None


def test_the_case_of_errors_is_a_reject(shared_data: Path) -> None:
    path = shared_data / "cases" / "slurm-json-errors.json"
    if not path.exists():
        pytest.skip("the case slurm-json-errors is absent")
    (error,) = json.loads(path.read_text())["errors"]
    found = harvest(path)
    (reject,), (note,) = found.rejects, found.notes
    for text in (reject.reason, note):
        assert error["error"] in text
        assert error["description"] in text
    assert SlurmSource.detect(path) is not None

"""Forms in which people bring Slurm's JSON, and what it says of itself."""

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from scalars import scalars_in
from test_slurm_json import exit_of, harvest, harvest_text, make_job, write

import harvest as harvest_api
from harvest import SourceError
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


@pytest.mark.parametrize("lost", [1, 40, 700])
def test_a_line_that_is_cut_off_costs_itself_alone(tmp_path: Path, lost: int) -> None:
    # given a job a line, the second of which was not written to its end
    lines = [json.dumps(job) for job in JOBS]
    lines[1] = lines[1][:-lost]
    found = harvest_text(tmp_path, "\n".join(lines) + "\n")
    assert [(r["position"], r["job_id"]) for r in found.rows("slurm.job")] == [(1, "1"), (4, "3")]
    (reject,) = found.rejects
    assert reject.position == 3
    assert reject.raw.rstrip(b"\n").decode() == lines[1]
    assert reject.reason == "it ends early: the next JSON begins on a line of its own"


def test_a_document_that_is_cut_off_keeps_the_next(tmp_path: Path) -> None:
    first = json.dumps(document(JOBS[:2]), indent=2)
    found = harvest_text(
        tmp_path, first[: first.index('"job_id": 2') + 11] + "\n" + json.dumps(document(JOBS[2:]))
    )
    assert [row["job_id"] for row in found.rows("slurm.job")] == ["1", "3"]
    assert [reject.position for reject in found.rejects] == [3]


def test_text_between_documents_is_a_reject(tmp_path: Path) -> None:
    found = harvest_text(
        tmp_path, f"{json.dumps(document(JOBS[:1]))}\nslurm_load: done\n{json.dumps(JOBS[1])} ]"
    )
    assert [row["job_id"] for row in found.rows("slurm.job")] == ["1", "2"]
    assert [(r.position, r.raw) for r in found.rejects] == [(3, b"slurm_load: done"), (6, b"]")]


def test_an_input_of_errors_alone_is_a_reject_with_their_words(tmp_path: Path) -> None:
    found = harvest_text(tmp_path, json.dumps(document([], errors=[ERROR])))
    assert found.notes == [f"sacct says: {SAID}"]
    (reject,) = found.rejects
    assert reject.reason == f"no job, since sacct says: {SAID}"
    assert json.loads(reject.raw) == ERROR


@pytest.mark.parametrize("first", [True, False])
def test_errors_and_warnings_beside_jobs_are_notes(tmp_path: Path, first: bool) -> None:
    said = {"errors": [ERROR], "warnings": [{"description": "QOS is unknown"}, "as text"]}
    whole = document(JOBS, **said)
    found = harvest_text(tmp_path, json.dumps({**said, **whole} if first else whole))
    assert not found.rejects
    assert len(found.rows("slurm.job")) == 3
    assert found.notes == [
        f"sacct says: {SAID}",
        "sacct says: warning: QOS is unknown",
        'sacct says: warning: "as text"',
    ]


def test_many_warnings_are_counted(tmp_path: Path) -> None:
    notes = harvest_text(
        tmp_path, json.dumps(document(JOBS, warnings=[{"description": "odd"}] * 23))
    ).notes
    assert notes == ["sacct says: warning: odd"] * 20 + ["sacct says: 3 more warnings"]


@pytest.mark.slow
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
        f"sacct reported errors in 1 input. Jobs may be missing. The first message: {SAID}."
    )
    assert finding.evidence.first["origin"].to_list() == [str(tmp_path / "failed.json")]


# each shape of each field, and what no version prints

GENERATIONS = ("plain", "structs", "lists")


def with_step_id(value: Any, **beside: Any) -> dict[str, Any]:
    job = make_job(101, "structs")
    job["steps"][0]["step"] = {"id": value, "name": "n", **beside}
    return job


@pytest.mark.parametrize(
    ("job", "step_id"),
    [
        (with_step_id("batch", het={"component": None}), "batch"),  # 22.05
        (with_step_id(3, het={"component": 1}), "3+1"),
        (with_step_id({"job_id": 101, "step_id": 0}), "0"),  # 23.02
        (with_step_id({"job_id": 101, "step_het_component": 0, "step_id": "2"}), "2+0"),
        (with_step_id("101.interactive"), "interactive"),  # 23.11 and later
        (with_step_id("101.7+1"), "7+1"),
    ],
)
def test_the_id_of_a_step_in_every_version(tmp_path: Path, job: Any, step_id: str) -> None:
    (step,) = harvest(write(tmp_path / "j.json", [job])).rows("slurm.step")
    assert step["step_id"] == step_id


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (with_step_id({"job_id": 101}), "steps[0].step.id: 'null' instead of the id of a step"),
        ({"job_id": 1}, "no 'state' in this job"),
        (make_job(1, "plain", name=["a"]), "name: '[\"a\"]' instead of a text"),
        (make_job(1, "plain", het="no"), "het.job_id: 'no' instead of an object"),
        (
            make_job(1, "plain", priority={"set": True}),
            "priority: '{\"set\":true}' instead of a number",
        ),
        (make_job(1, "plain", flags=[["A"]]), "flags: '[\"A\"]' instead of a text"),
        (make_job(1, "plain", steps={"0": {}}), "steps: '{\"0\":{}}' instead of a list"),
        (make_job(1, "plain", exit_code=3), "exit_code.status: '3' instead of an object"),
        (
            make_job(1, "plain", tres={"allocated": [{"type": {"a": 1}, "count": 1}]}),
            "tres.allocated: type: '{\"a\":1}' instead of a text",
        ),
    ],
)
def test_a_shape_that_is_not_known_is_a_reject_that_names_it(
    tmp_path: Path, job: Any, reason: str
) -> None:
    found = harvest(write(tmp_path / "j.json", [job, make_job(2, "lists")]))
    assert [row["job_id"] for row in found.rows("slurm.job")] == ["2"]
    (reject,) = found.rejects
    assert reason in reject.reason.removeprefix("not a job as sacct --json prints it: ")


def test_numbers_that_are_not_set_are_null_or_a_word_with_complex(tmp_path: Path) -> None:
    # given what sacct --json=v0.0.43+complex prints where others print objects
    job = make_job(1, "plain", priority=None, restart_cnt="Infinity")
    job["time"] |= {"limit": "Infinity", "end": None}
    (row,) = harvest(write(tmp_path / "j.json", [job])).rows("slurm.job")
    assert (row["priority"], row["restarts"], row["timelimit_s"], row["end_time"]) == (None,) * 4
    assert dict(row["extra"])["Timelimit"] == "UNLIMITED"


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("planted", [{"planted": [1]}, [["planted"]]])
def test_no_text_of_a_container_is_a_value(tmp_path: Path, generation: str, planted: Any) -> None:
    # given a job for each of its scalars, which has an object or a list there
    whole = make_job(0, generation, licenses="a:1", exit_code=exit_of(2, generation))
    jobs = []
    for n, _ in enumerate(list(scalars_in(whole)), start=1):
        job = json.loads(json.dumps({**whole, "job_id": n}))
        container, key = list(scalars_in(job))[n - 1]
        container[key] = planted
        jobs.append(job)
    found = harvest(write(tmp_path / "j.json", jobs))
    # then each is a reject or a row, and the container's text stands in extra alone
    assert len(found.rejects) + len(found.rows("slurm.job")) == len(jobs)
    assert len(found.rejects) > len(jobs) // 2
    for kind in ("slurm.job", "slurm.step"):
        for row in found.rows(kind):
            assert "planted" not in str({**row, "extra": None})


def slurms_yaml(value: Any, depth: int = 0) -> str:
    """YAML as Slurm's serializer writes it: every value with its tag, in blocks."""
    pad = "  " * depth
    if isinstance(value, dict) and value:
        inner = (f'\n{pad}!!str "{k}": {slurms_yaml(v, depth + 1)}' for k, v in value.items())
        return "!!map" + "".join(inner)
    if isinstance(value, list) and value:
        return "!!seq" + "".join(f"\n{pad}- {slurms_yaml(item, depth + 1)}" for item in value)
    if isinstance(value, (dict, list)):
        return "!!map {}" if value == {} else "!!seq []"
    kinds = {str: "str", bool: "bool", int: "int", type(None): "null"}
    return f"!!{kinds[type(value)]} {json.dumps(value)}"


@pytest.mark.parametrize("form", ["slurm", "block", "flow", "array"])
def test_yaml_is_the_same_document(tmp_path: Path, form: str) -> None:
    # given jobs whose texts look like numbers and nothing, as JSON and as YAML
    jobs = [make_job(n, "lists", name=name) for n, name in enumerate(["12", "null", "~", "0x1"], 1)]
    jobs = json.loads(json.dumps(jobs))  # nothing is shared, for which YAML would have aliases
    document = {"meta": {}, "jobs": jobs, "errors": []}
    texts = {
        "slurm": f"%YAML 1.1\n--- {slurms_yaml(document)}\n...\n",
        "block": yaml.safe_dump(document, sort_keys=False),
        "flow": f"---\n{json.dumps(document)}\n",
        "array": yaml.safe_dump(jobs, sort_keys=False),
    }
    path = tmp_path / "sacct.yaml"
    path.write_text(texts[form])
    found, expected = harvest(path), harvest(write(tmp_path / "j.json", jobs))
    # then rows and positions are the same
    assert not found.rejects
    for kind in ("slurm.job", "slurm.step"):
        strip = [{**row, "origin": None} for row in found.rows(kind)]
        assert strip == [{**row, "origin": None} for row in expected.rows(kind)]
    detected = SlurmSource.detect(path)
    assert detected is not None
    assert (detected.confidence, detected.reason) == (0.95, "sacct --yaml")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("jobs:\n- &a {job_id: 1}\n- *a\n", "alias in line 3"),
        ("jobs:\n- {[1]: 2}\n", "key that is not a text in line 2"),
        ("jobs:\n- {job_id: 1\n", "not YAML: "),
        ("jobs:\n- !!python/object/apply:os.system [ls]\n", "an element that is not an object"),
    ],
)
def test_yaml_that_sacct_does_not_write_is_a_reject(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "sacct.yaml"
    path.write_text(text)
    found = harvest(path)
    assert found.written == 0
    assert reason in found.rejects[-1].reason


def test_yaml_needs_a_library_and_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    path = tmp_path / "sacct.yaml"
    path.write_text("jobs: []\n")
    with pytest.raises(SourceError, match=re.escape("pip install 'hpc-harvest[yaml]'")):
        harvest(path)

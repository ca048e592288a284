"""Each shape of each field of Slurm's JSON and YAML, and what no version prints."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_slurm_json import exit_of, harvest, make_job, write

from harvest import SourceError
from harvest_slurm.source import SlurmSource

GENERATIONS = ("plain", "structs", "lists")


def with_step_id(value: Any, **beside: Any) -> dict[str, Any]:
    job = make_job(101, "structs")
    job["steps"][0]["step"] = {"id": value, "name": "n", **beside}
    return job


@pytest.mark.parametrize(
    ("job", "step_id"),
    [
        (with_step_id("batch", het={"component": None}), "batch"),  # 22.05
        (with_step_id(0), "0"),
        (with_step_id(3, het={"component": 1}), "3+1"),
        (with_step_id({"job_id": 101, "step_id": "extern"}), "extern"),  # 23.02
        (with_step_id({"job_id": 101, "step_id": 0}), "0"),
        (with_step_id({"job_id": 101, "step_het_component": 0, "step_id": "2"}), "2+0"),
        (with_step_id("101.interactive"), "interactive"),  # 23.11 and later
        (with_step_id("101.7"), "7"),
        (with_step_id("101.7+1"), "7+1"),
    ],
)
def test_the_id_of_a_step_in_every_version(tmp_path: Path, job: Any, step_id: str) -> None:
    (step,) = harvest(write(tmp_path / "j.json", [job])).rows("slurm.step")
    assert step["step_id"] == step_id


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (with_step_id({"job_id": 101}), "steps[0].step.id: 'null' where the id of a step is due"),
        (
            with_step_id({"number": 1}),
            "steps[0].step.id: '{\"number\":1}' where the id of a step is due",
        ),
        (make_job(1, "plain", name=["a"]), "name: '[\"a\"]' where a text is due"),
        (make_job(1, "plain", het="no"), "het.job_id: 'no' where an object is due"),
        (make_job(1, "plain", priority={"set": True}), "priority: '{\"set\":true}' where a number"),
        (make_job(1, "plain", flags=[["A"]]), "flags: '[\"A\"]' where a text is due"),
        (make_job(1, "plain", steps={"0": {}}), "steps: '{\"0\":{}}' where a list is due"),
        (make_job(1, "plain", exit_code=3), "exit_code.status: '3' where an object is due"),
        (
            make_job(1, "plain", tres={"allocated": [{"type": {"a": 1}, "count": 1}]}),
            "tres.allocated: type: '{\"a\":1}' where a text is due",
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


def scalars_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each place of a scalar: its container, and its key there."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        if isinstance(value[key], (dict, list)):
            yield from scalars_in(value[key])
        else:
            yield value, key


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

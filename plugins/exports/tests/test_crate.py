"""A dataset as an RO-Crate: complete, true to the dataset, and valid by the profile's checker."""

import hashlib
import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any, ClassVar

import pytest

import harvest
from harvest import DatasetError, UsageError

testing = pytest.importorskip("harvest_testing", reason="hpc-harvest-testing is not installed")

VALIDATE = """
import sys
from pathlib import Path
import requests_cache
from rocrate_validator import models, services

folder, context = sys.argv[1:]
cache, url = str(Path(folder).parent / "cache"), "https://w3id.org/ro/crate/1.1/context"
with requests_cache.CachedSession(cache) as session:  # so that nothing is fetched
    session.cache.save_response(requests_cache.CachedResponse(
        status_code=200, url=url, headers={"Content-Type": "application/ld+json"},
        content=Path(context).read_bytes(),
        request=requests_cache.CachedRequest(method="GET", url=url),
    ))
result = services.validate(services.ValidationSettings(
    rocrate_uri=folder, profile_identifier="process-run-crate",
    requirement_severity=models.Severity.RECOMMENDED, offline=True, cache_path=cache,
))
for issue in result.get_issues():
    print(issue.severity.name, issue.message, sep=": ")
print(len(result.executed_checks), "checks")
"""
LEFT_OPEN = {
    "RECOMMENDED: The Application SHOULD have a url",
    "RECOMMENDED: The SoftwareApplication id SHOULD be an absolute URI",
    "RECOMMENDED: The author SHOULD have an organizational affiliation.",
    "RECOMMENDED: The author SHOULD have a Contextual Entity which specifies the organizational "
    "`affiliation`.",
    "RECOMMENDED: The organization SHOULD have a URL.",
}
"""Recommendations about what harvest does not know: pages of software, people and publishers."""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory) -> Path:
    """Two jobs and an unreadable line."""
    for module in ("harvest_slurm", "harvest_parquet"):
        pytest.importorskip(module)
    folder = tmp_path_factory.mktemp("crate")
    (folder / "sacct.txt").write_text("JobID|State|User\n1|COMPLETED|ada\n2|FAILED|tim\n?|?\n")
    harvest.run([f"slurm:{folder / 'sacct.txt'}"], f"parquet:{folder / 'out'}", workers=1)
    return folder / "out"


def graph(crate: Path) -> dict[str, dict[str, Any]]:
    """The entities of a crate by their ids."""
    document = json.loads((crate / "ro-crate-metadata.json").read_text())
    return {entity["@id"]: entity for entity in document["@graph"]}


def crate_of(dataset: Path, target: Path, **options: Any) -> dict[str, dict[str, Any]]:
    harvest.open(dataset).export("ro-crate", target, **{"license": "CC-BY-4.0", **options})
    return graph(target)


def test_every_file_of_the_dataset_is_in_the_crate_with_its_checksum_and_schema(dataset, tmp_path):
    found = crate_of(dataset, tmp_path / "crate")
    files = {file.path for file in harvest.open(dataset).files("slurm.job")}

    assert files
    for path in files:
        entity = found[f"data/{path}"]
        copy = (tmp_path / "crate" / "data" / path).read_bytes()
        assert copy == (dataset / path).read_bytes()
        assert entity["sha256"] == hashlib.sha256(copy).hexdigest()
        assert entity["contentSize"] == str(len(copy))
        schema = json.loads((tmp_path / "crate" / entity["conformsTo"]["@id"]).read_text())
        assert schema["title"] == "slurm.job"
        assert entity["@id"] in {part["@id"] for part in found["./"]["hasPart"]}


def test_a_run_is_an_action_with_its_input_its_software_and_its_account(dataset, tmp_path):
    found = crate_of(
        dataset,
        tmp_path / "crate",
        title="Two jobs",
        authors=("Ada Lovelace, 0000-0002-1825-0097", "Tim"),
        publisher="The Observatory",
    )
    record = harvest.open(dataset).runs()[0]

    action = found[f"#run-{record['run']}"]
    assert "slurm: 3 read, 2 written, 0 filtered, 0 folded, 1 rejected" in action["description"]
    assert action["agent"] == {"@id": "https://orcid.org/0000-0002-1825-0097"}
    assert found[action["object"]["@id"]]["name"] == f"slurm:{dataset.parent / 'sacct.txt'}"
    assert found[action["instrument"]["@id"]]["name"] == "hpc-harvest"
    root = found["./"]
    assert root["name"] == "Two jobs"
    assert root["license"] == {"@id": "https://spdx.org/licenses/CC-BY-4.0"}
    assert [found[person["@id"]]["name"] for person in root["author"]] == ["Ada Lovelace", "Tim"]
    assert found[root["publisher"]["@id"]]["name"] == "The Observatory"
    assert {"@id": action["@id"]} in root["mentions"]


def test_the_settings_may_be_given_as_text(dataset, tmp_path):
    authors = "Ada Lovelace, 0000-0002-1825-0097; Tim"

    files = harvest.open(dataset).export("ro-crate", tmp_path / "c", license="MIT", authors=authors)

    assert tmp_path / "c" / "ro-crate-metadata.json" in files
    found = graph(tmp_path / "c")
    assert [found[who["@id"]]["name"] for who in found["./"]["author"]] == ["Ada Lovelace", "Tim"]


def test_a_crate_without_a_licence_is_refused(dataset, tmp_path):
    with pytest.raises(UsageError, match="--license"):
        harvest.open(dataset).export("ro-crate", tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_what_cannot_become_a_crate_is_refused_and_leaves_nothing(dataset, tmp_path):
    opened = harvest.open(dataset)
    (tmp_path / "there").mkdir()

    with pytest.raises(UsageError, match="this exists already"):
        opened.export("ro-crate", tmp_path / "there", license="MIT")
    with pytest.raises(UsageError, match="is not a name and an ORCID iD"):
        opened.export("ro-crate", tmp_path / "new", license="MIT", authors=("Ada, 12",))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there"]


def test_a_damaged_dataset_is_no_crate(dataset, tmp_path):
    copied = tmp_path / "copy"
    subprocess.run(["cp", "-r", dataset, copied], check=True)
    (file,) = (copied / "slurm.job").iterdir()
    file.write_bytes(file.read_bytes()[:-1])

    with pytest.raises(DatasetError, match="verifying finds a problem"):
        harvest.open(copied).export("ro-crate", tmp_path / "crate", license="MIT")


@pytest.mark.slow(night=True)
def test_the_profile_s_own_checker_finds_nothing_to_object_to(dataset, tmp_path):
    """roc-validator wants other versions than harvest, so it has an environment of its own."""
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    installed = subprocess.run(
        [python, "-m", "pip", "install", "-q", "roc-validator>=0.6"],
        capture_output=True,
        text=True,
        check=False,
    )
    if installed.returncode:
        pytest.skip(f"roc-validator cannot be installed: {installed.stderr.splitlines()[-1]}")
    words = ["export", str(dataset), str(tmp_path / "crate"), "--as", "ro-crate"]
    words += ["--license", "CC-BY-4.0", "--author", "Ada Lovelace", "--publisher", "Observatory"]
    subprocess.run([sys.executable, "-m", "harvest", *words], check=True)
    import rocrate  # the context that it brings is that of RO-Crate

    context = Path(rocrate.__file__).parent / "data" / "ro-crate.jsonld"
    done = subprocess.run(
        [python, "-c", VALIDATE, tmp_path / "crate", context],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(tmp_path)},
    )

    assert done.returncode == 0, done.stderr
    *issues, checks = done.stdout.splitlines()
    assert set(issues) <= LEFT_OPEN
    assert int(checks.removesuffix(" checks")) > 50


def test_a_crate_that_cannot_be_written_leaves_nothing(dataset, tmp_path, monkeypatch):
    def full(crate, place):
        (place / "half").write_text("")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rocrate.rocrate.ROCrate.write", full)
    with pytest.raises(OSError, match="No space left"):
        harvest.open(dataset).export("ro-crate", tmp_path / "crate", license="MIT")
    assert list(tmp_path.iterdir()) == []


# --- what all exporters promise -------------------------------------------------------------------


class TestCrate(testing.ExporterConformance):
    exporter = "ro-crate"
    deterministic = False  # it says when it was made
    settings: ClassVar = {"license": "CC-BY-4.0"}
    examples: ClassVar = {
        "license": "CC0-1.0",
        "title": "Two jobs",
        "description": "Jobs of a day.",
        "authors": "Ada",
        "publisher": "A laboratory",
    }

    def dataset(self, directory: Path, inputs: int) -> harvest.Dataset:
        """Two jobs of each input, and a line that cannot be read."""
        for module in ("harvest_slurm", "harvest_parquet"):
            pytest.importorskip(module)
        table = "JobID|State|User\n1|COMPLETED|ada\n2|FAILED|tim\n?|?\n"
        for number in range(inputs):
            (directory / f"sacct {number}.txt").write_text(table)
        harvest.run(f"slurm:{directory}", f"parquet:{directory / 'out'}", workers=1)
        return harvest.open(directory / "out")

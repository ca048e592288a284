"""The pipeline, the release recipe and what surrounds them are valid and agree with each other."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from delivery import script

ROOT = Path(__file__).resolve().parents[1]
PIPELINE = (ROOT / ".gitlab-ci.yml").read_text()
PROJECTS = [ROOT, *sorted(p.parent for p in ROOT.glob("plugins/*/pyproject.toml"))]


def tool(name: str) -> str:
    """A tool of this environment, or of the machine."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.mark.parametrize(
    ("schema", "file"),
    [("vendor.gitlab-ci", ".gitlab-ci.yml"), ("vendor.citation-file-format", "CITATION.cff")],
)
def test_the_file_follows_its_schema(schema, file):
    done = subprocess.run(
        [tool("check-jsonschema"), "--builtin-schema", schema, ROOT / file],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_passes_the_linter_and_does_not_run_as_root():
    dockerfile = ROOT / "containers" / "Dockerfile"
    done = subprocess.run(
        [tool("hadolint"), dockerfile], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    users = re.findall(r"^USER (.*)$", dockerfile.read_text(), re.MULTILINE)
    assert users[-1] not in ("root", "0")


def test_what_makes_a_release_runs_in_images_of_an_exact_version():
    """What a release is built and published with is what it was tried with."""
    jobs = yaml.safe_load(PIPELINE)
    default, variables = jobs["default"]["image"], jobs["variables"]
    for name in ("tag-release", "build", "try-release", "publish", "notes", "release"):
        image = jobs[name].get("image", default)
        image = variables[image[1:]] if image.startswith("$") else image
        assert re.search(r":v?\d+\.\d+\.\d+(-[\w.]+)?$", image), f"{name}: {image}"
    bases = re.findall(r"^FROM (\S+)", (ROOT / "containers" / "Dockerfile").read_text(), re.M)
    assert bases
    assert all(re.search(r":\d+\.\d+\.\d+-", base) for base in bases)
    assert ":latest" not in PIPELINE


def test_nothing_is_published_before_it_was_installed():
    jobs = yaml.safe_load(PIPELINE)
    stages = jobs["stages"]
    assert "rules" not in jobs["try-release"]  # in every pipeline, a tag's too
    assert jobs["try-release"]["needs"] == ["build"]
    assert stages.index(jobs["try-release"]["stage"]) < stages.index(jobs["publish"]["stage"])
    # a tag without notes publishes nothing, either: jobs wait for all earlier stages
    assert stages.index(jobs["notes"]["stage"]) < stages.index(jobs["publish"]["stage"])
    assert "needs" not in jobs["publish"]
    assert jobs["publish"]["rules"] == [{"if": r"$CI_COMMIT_TAG =~ /^v\d/"}]


def test_every_script_and_test_that_the_pipeline_runs_is_there():
    scripts = set(re.findall(r"(?:bash|python|-r|--config) (\.ci/[\w./-]+)", PIPELINE))
    tests = set(re.findall(r" ([\w./-]*tests/test_[\w*]+\.py)", PIPELINE))
    assert min(len(scripts), len(tests)) >= 4
    assert {name for name in scripts | tests if not [*ROOT.glob(name)]} == set()


def test_the_variables_that_ask_for_a_service_are_those_that_tests_read():
    asked = set(re.findall(r"^ +(HARVEST_TEST_\w+):", PIPELINE, re.MULTILINE))
    read = set()
    for path in [*ROOT.glob("tests/*.py"), *ROOT.glob("plugins/*/tests/*.py")]:
        read |= set(re.findall(r"environ\.get\(\"(HARVEST_TEST_\w+)\"", path.read_text()))
    assert asked
    assert asked <= read


@pytest.mark.parametrize("project", PROJECTS, ids=lambda p: p.name)
def test_no_version_is_written_by_hand(project):
    declared = tomllib.loads((project / "pyproject.toml").read_text())
    assert "version" in declared["project"]["dynamic"]
    assert declared["tool"]["hatch"]["version"]["source"] == "vcs"


AUTHORS = ("hpc-harvest-testing",)
"""What authors of plugins test with."""


def test_every_plugin_is_in_the_core_s_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    names = [
        tomllib.loads((project / "pyproject.toml").read_text())["project"]["name"]
        for project in PROJECTS[1:]
    ]
    assert sorted([*extras["plugins"], *AUTHORS]) == sorted(names)
    assert set(AUTHORS) <= set(extras["all"]), "nodes that only harvest do without it"


CORE = """
[project]
name = "hpc-harvest"
dependencies = ["polars>=1.35,<3"]
[project.optional-dependencies]
plugins = ["hpc-harvest-zinc", "hpc-harvest-argon[fast]"]
all = ["hpc-harvest[plugins]"] # ourselves
"""


def test_requirements_among_ours_are_built_for_this_minor_version_from_this_one_on(tmp_path):
    pytest.importorskip("tomlkit")
    from packaging.requirements import Requirement
    from packaging.version import Version

    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text(CORE)

    script("build_all").bind(pyproject, Version("1.2.0.dev3+gabc"))

    project = tomllib.loads(pyproject.read_text())["project"]
    assert project["dependencies"] == ["polars>=1.35,<3"]
    extras = project["optional-dependencies"]
    assert extras["all"] == ["hpc-harvest[plugins]"]
    zinc, argon = map(Requirement, extras["plugins"])
    assert (argon.name, argon.extras) == ("hpc-harvest-argon", {"fast"})
    for wanted in zinc, argon:
        fits = ["1.2.0.dev3", "1.2.0", "1.2.9"]
        others = ["1.1.9", "1.2.0.dev2", "1.3.0.dev1", "1.3.0", "2.0.0"]
        assert list(wanted.specifier.filter(fits + others, prereleases=True)) == fits


STUBS = """
set ModulesCurrentModulefile {path}
proc module-whatis text {{ puts "whatis $text" }}
proc conflict name {{ puts "conflict $name" }}
proc prepend-path {{name value}} {{ puts "$name=$value" }}
source $ModulesCurrentModulefile
"""


def test_the_modulefile_takes_its_version_from_its_own_name(tmp_path):
    installed = tmp_path / "modulefiles" / "harvest" / "1.2.3"
    installed.parent.mkdir(parents=True)
    shutil.copy(ROOT / "containers" / "modulefile", installed)

    done = subprocess.run(
        [tool("tclsh")], input=STUBS.format(path=installed), env={"HARVEST_APPS": "/apps"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "conflict harvest" in done.stdout
    assert "PATH=/apps/1.2.3/commands" in done.stdout

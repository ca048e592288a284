"""The documented commands install our packages, whatever a stranger publishes under our names.

Two indexes on loopback: our registry, and a public one that has what everybody needs, and higher
versions of all our distributions by a stranger.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, distributions
from pathlib import Path

import pytest
import yaml
from delivery import ROOT, script, wheel

from harvest_testing.scaffold import scaffold

pytest.importorskip("pypiserver")
index = script("index").index
pytestmark = pytest.mark.slow

OURS, STRANGERS = "1.2.0", "99.0"
PLUGINS = [
    tomllib.loads(path.read_text())["project"]["name"]
    for path in sorted(ROOT.glob("plugins/*/pyproject.toml"))
]
SOME = PLUGINS[::8]
"""Plugins that the extras bring here: three show it."""
PAGE = ROOT / "docs" / "how-to" / "install.md"
README = ROOT / "README.md"


def block(page: Path, beginning: str) -> str:
    """The one block of shell of a page that begins with a word."""
    found = re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    (text,) = [b for b in found if b.startswith(beginning)]
    return text


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """What the registry holds, and what the public index holds."""
    registry, public = tmp_path_factory.mktemp("registry"), tmp_path_factory.mktemp("public")
    plugins = [f'{name}>={OURS}; extra == "plugins"' for name in SOME]
    for folder, version in ((registry, OURS), (public, STRANGERS)):
        needs = ["ordinary", *plugins, 'hpc-harvest[plugins]; extra == "all"']
        wheel(folder, "hpc-harvest", version, requires=needs)
        for name in PLUGINS:
            wheel(folder, name, version, requires=["hpc-harvest", "ordinary"])
    wheel(public, "ordinary", "3.1")
    return registry, public


@pytest.fixture(scope="module")
def public(folders):
    with index(folders[1]) as address:
        yield f"{address}/simple"


@pytest.fixture(scope="module", params=["forwards", "forwards nothing"])
def registry(request, folders, public):
    """Our registry; for what it lacks it sends others to the public index, or nowhere."""
    with index(folders[0], forward=public if request.param == "forwards" else "") as address:
        yield f"{address}/simple", request.param == "forwards"


@pytest.fixture(scope="module")
def environment(tmp_path_factory, public):
    """A virtual environment with pip, whose own configuration names the public index too."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    pip = distribution("pip")
    for name in ("pip", f"pip-{pip.version}.dist-info"):
        (site / name).symlink_to(str(pip.locate_file(name)))
    (folder / "bin" / "pip").write_text('#!/bin/sh\nexec "${0%/*}/python" -m pip "$@"\n')
    (folder / "bin" / "pip").chmod(0o755)
    (folder / "pip.conf").write_text(f"[global]\nextra-index-url = {public}\n")
    return folder


@pytest.fixture
def user(tmp_path, public, environment):
    """Runs shell as a user in an empty environment, with settings that name the public index."""
    for path in environment.glob("lib/python*/site-packages/*.dist-info"):
        if not path.name.startswith(("pip-", "setuptools-")):
            shutil.rmtree(path)
    settings = tmp_path / "home" / ".config" / "uv" / "uv.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'index-strategy = "unsafe-best-match"\nextra-index-url = ["{public}"]\n')
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "UV_", "XDG_"))}
    tools = os.pathsep.join((str(environment / "bin"), str(Path(shutil.which("uv") or "").parent)))
    variables = kept | {
        "HOME": str(tmp_path / "home"),
        "PATH": f"{tools}{os.pathsep}{kept['PATH']}",
        "VIRTUAL_ENV": str(environment),
        "PIP_INDEX_URL": public, "PIP_EXTRA_INDEX_URL": public, "PIP_NO_CACHE_DIR": "1",
        "UV_DEFAULT_INDEX": public, "UV_EXTRA_INDEX_URL": public, "UV_INDEX": public,
        "UV_INDEX_STRATEGY": "unsafe-best-match", "UV_NO_CACHE": "1",
        "UV_PYTHON_DOWNLOADS": "never",
    }  # fmt: skip

    def run(text: str, registry: str, folder: Path = tmp_path):
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text], cwd=folder, check=False,
            env=variables | {"HARVEST_INDEX_URL": registry}, capture_output=True, text=True,
        )  # fmt: skip

    return run


def installed(environment: Path) -> dict[str, str]:
    """The versions of what an environment has, without pip."""
    (site,) = environment.glob("lib/python*/site-packages")
    found = {d.name: d.version for d in distributions(path=[str(site)])}
    return {name: found[name] for name in found if name not in ("pip", "setuptools", "proj")}


ALL = {"hpc-harvest": OURS, "ordinary": "3.1"} | dict.fromkeys(SOME, OURS)


def uv() -> None:
    if shutil.which("uv") is None:
        pytest.skip("uv is not installed")


def test_pip_takes_everything_of_ours_from_a_registry_that_forwards(user, registry, environment):
    address, forwards = registry
    done = user(block(README, "PIP_CONFIG_FILE=/dev/null pip install"), address)
    check_installed(done, environment, forwards)


def check_installed(done, environment, forwards):
    """Everything of ours is there; where pip is not sent on, nothing rather than a stranger's."""
    if forwards:
        assert done.returncode == 0, done.stderr
        assert installed(environment) == ALL
    else:
        assert "No matching distribution found for ordinary" in done.stderr
        assert installed(environment) == {}


def test_uv_takes_everything_of_ours_from_any_registry(user, registry, environment):
    uv()
    done = user(block(README, "uv pip install"), registry[0])
    assert done.returncode == 0, done.stderr
    assert installed(environment) == ALL


def test_pip_installs_the_files_it_downloaded_from_any_registry(user, registry, environment):
    done = user(block(PAGE, "PIP_CONFIG_FILE=/dev/null pip download"), registry[0])
    assert done.returncode == 0, done.stderr
    assert installed(environment) == ALL | dict.fromkeys(PLUGINS, OURS)


def test_pip_takes_a_plugin_of_another_registry_and_harvest_from_their_own(
    user, registry, environment, folders, tmp_path
):
    # given a plugin in a registry of its own, and a stranger's of its name, a higher one
    own = tmp_path / "own"
    own.mkdir()
    wheel(own, "harvest-freezer", "0.1.0", requires=["hpc-harvest", "ordinary"])
    wheel(folders[1], "harvest-freezer", STRANGERS)

    with index(own, forward=registry[0]) as address:
        text = f"export PLUGIN_INDEX_URL={address}/simple\n"
        done = user(text + block(PAGE, "# harvest from its registry"), registry[0])

    assert done.returncode == 0, done.stderr
    assert installed(environment) == {
        "hpc-harvest": OURS, "hpc-harvest-parquet": OURS, "harvest-freezer": "0.1.0",
        "ordinary": "3.1",
    }  # fmt: skip


def test_a_project_of_uv_takes_everything_of_ours_from_the_registry(user, registry, tmp_path):
    uv()
    (tmp_path / "project").mkdir()
    # given a project of a user whose own settings are those that uv comes with
    text = "unset UV_INDEX_STRATEGY UV_EXTRA_INDEX_URL UV_INDEX VIRTUAL_ENV\n"
    text += 'rm "$HOME/.config/uv/uv.toml"\nuv init -q --bare --name proj\n'
    text += block(PAGE, "uv add")

    done = user(text, registry[0], tmp_path / "project")

    assert done.returncode == 0, done.stderr
    assert installed(tmp_path / "project" / ".venv") == ALL
    # and again from what was written
    again = user(
        "unset UV_INDEX_STRATEGY UV_EXTRA_INDEX_URL UV_INDEX VIRTUAL_ENV\n"
        "rm -r .venv uv.lock\nuv sync -q",
        registry[0], tmp_path / "project",
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert installed(tmp_path / "project" / ".venv") == ALL


def test_the_first_look_shows_the_releases(user, registry):
    look = block(README, "export HARVEST_INDEX_URL").splitlines()[1]
    shown = user(look, registry[0])
    assert shown.stdout == f"hpc_harvest-{OURS}-py3-none-any.whl\n"


def test_the_first_look_stops_at_the_registry_of_another_project(user, public, tmp_path):
    (tmp_path / "nothing").mkdir()
    with index(tmp_path / "nothing", forward=public) as address:
        done = user(block(README, "export").splitlines()[1], f"{address}/simple")
    assert (done.returncode, done.stdout) == (1, "")


@pytest.fixture
def pipeline(tmp_path):
    """What the pipeline of a new plugin does before anything is installed, as shell."""
    scaffold("made-up", ["source"], tmp_path)
    document = yaml.safe_load((tmp_path / "harvest-made-up" / ".gitlab-ci.yml").read_text())
    before = document["default"]["before_script"]
    return "\n".join(before[: before.index("python3 -m venv .venv")]) + "\n"


def test_the_pipeline_of_a_new_plugin_takes_harvest_from_its_registry(
    user, registry, environment, pipeline
):
    address, forwards = registry
    done = user(f"{pipeline}pip install 'hpc-harvest[all]'", address)
    check_installed(done, environment, forwards)


# these tests can fail: what people do without thinking takes the stranger's


@pytest.mark.parametrize("beginning", ["export", "PIP_CONFIG_FILE=/dev/null pip install", "uv pip"])
def test_the_page_shows_the_commands_of_the_readme(beginning):
    assert block(README, beginning) in re.sub(r"\\\n *|^\$ ", "", PAGE.read_text(), flags=re.M)


def test_the_page_for_registries_that_forward_nothing_names_every_plugin():
    text = block(PAGE, "PIP_CONFIG_FILE=/dev/null pip download").replace("\\\n", "")
    shown = subprocess.run(
        ["bash", "-c", "echo " + text.splitlines()[0].partition("HARVEST_INDEX_URL\"")[2]],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert shown.stdout.split() == ["hpc-harvest", *sorted(PLUGINS)]


def test_nothing_installs_ours_beside_others_of_their_names():
    """Folders and further indexes compete with pip's own index: the highest version wins."""
    files = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/README.md")]
    files += [*ROOT.glob(".ci/*"), *ROOT.glob("containers/*"), ROOT / ".gitlab-ci.yml"]
    shown = [
        (file.name, line)
        for file in files
        if file.is_file()
        for line in file.read_text("utf-8").splitlines()
        if re.search(r"\bpip\b.* (?:install|download) ", line)
        if "--extra-index-url" in line or ("--find-links" in line and "--no-index" not in line)
    ]
    assert shown == []

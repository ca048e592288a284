"""Two plugins that declare one name: the order in which they are found decides nothing."""

import json
import sys
from importlib.metadata import EntryPoint, distributions
from pathlib import Path

import pytest
from commands import harvest_here

from harvest import UsageError
from harvest.plugins.registered import loaded
from harvest.plugins.registry import PluginManager, manager

MODULE = '''
import harvest
from harvest import declare

@harvest.record("contested.line", layer="workflow", level="client")
class Line(harvest.Record):
    """One line."""
    text: str = harvest.field(role="subject", doc="The line.")

class OneSource(harvest.Source):
    """Lines, as {distribution} reads them."""
    name, record_types = "{source}", (Line,)
    def read(self, partition, ctx):
        yield Line(text="{distribution}")

def nothing(*args, **settings):
    raise NotImplementedError

harvest_sources = declare(
    harvest.SourceSpec(name="{source}", doc="{distribution}", factory=OneSource)
)
harvest_sinks = declare(harvest.SinkSpec(name="vault", doc="{distribution}", factory=OneSource))
harvest_views = declare(harvest.View(name="vault.all", doc="{distribution}", build=nothing))
harvest_reports = declare(
    harvest.ReportSpec(name="vault.summary", doc="{distribution}", build=nothing)
)
harvest_rules = declare(
    harvest.Rule(name="vault.full", doc="{distribution}", view="vault.all", where="true",
                 columns=("a",), judge=nothing, advice="Empty it.", reference="-")
)
harvest_engines = declare(harvest.EngineSpec(name="moon", doc="{distribution}", factory=nothing))
harvest_commands = declare(harvest.Command(name="vault", doc="{distribution}", app=nothing))
'''
KINDS = {
    "source": "lines", "sink": "vault", "view": "vault.all", "report": "vault.summary",
    "rule": "vault.full", "engine": "moon", "command": "vault",
}  # fmt: skip


def install(folder: Path, distribution: str, *, source: str = "lines", point: str = "") -> None:
    """A distribution with one plugin that declares one thing of every kind."""
    module = distribution.replace("-", "_")
    code = MODULE.replace("{distribution}", distribution).replace("{source}", source)
    (folder / f"{module}.py").write_text(code)
    information = folder / f"{module}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n"
    )
    point = point or distribution
    (information / "entry_points.txt").write_text(f"[harvest]\n{point} = {module}\n")


def points(folder: Path) -> list[EntryPoint]:
    found = [p for d in distributions(path=[str(folder)]) for p in d.entry_points]
    assert all(point.dist is not None for point in found)
    return found


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A directory of the module path to install into; the command line finds what is there."""
    monkeypatch.syspath_prepend(tmp_path)
    loaded.clear()
    yield tmp_path
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)  # another test's are others of the same names
    loaded.clear()


@pytest.fixture
def strangers(folder) -> list[EntryPoint]:
    """The plugins of two distributions that declare the same names."""
    install(folder, "alpha-plugin")
    install(folder, "beta-plugin")
    return points(folder)


# --- two strangers


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("turned", [False, True])
def test_a_name_of_two_strangers_is_nobody_s_until_it_is_chosen(strangers, kind, turned):
    name = KINDS[kind]
    found = PluginManager(sorted(strangers, reverse=turned), disabled="", preferred="")
    assert name not in getattr(found, f"{kind}s")
    assert not found.broken

    with pytest.raises(UsageError) as caught:
        found.find(kind, name)

    assert str(caught.value) == (
        f"{kind} '{name}' is declared by alpha-plugin and beta-plugin; write "
        f"alpha-plugin:{name} or beta-plugin:{name}, or set HARVEST_PREFER=alpha-plugin"
    )
    for distribution in ("alpha-plugin", "beta-plugin"):
        assert found.find(kind, f"{distribution}:{name}").doc == distribution
    preferring = PluginManager(strangers, disabled="", preferred="Beta_Plugin, alpha-plugin")
    assert getattr(preferring, f"{kind}s")[name].doc == "beta-plugin"
    assert preferring.find(kind, name).doc == "beta-plugin"


def test_one_name_in_the_command_line(strangers, folder):
    (folder / "in.txt").write_text("x")
    run = ("run", "-k", "parquet:out")

    refused = harvest_here(*run, "-s", "lines:in.txt", cwd=folder)
    assert refused.returncode == 2
    assert "source 'lines' is declared by alpha-plugin and beta-plugin; write" in refused.stderr

    chosen = harvest_here(*run, "-s", "beta-plugin:lines:in.txt", "--json", cwd=folder)
    assert chosen.returncode == 0, chosen.stderr
    (record,) = (folder / "out/_harvest/runs").glob("*.json")
    assert json.loads(record.read_text())["source_plugins"] == {"lines": "beta-plugin 1.0"}
    printed = harvest_here(*run, "-s", "beta-plugin:lines:in.txt", "--print-config", cwd=folder)
    (folder / "r.toml").write_text(printed.stdout)
    again = harvest_here("run", "r.toml", "--json", cwd=folder)
    assert json.loads(again.stdout)["sources"][0]["skipped"] == 1

    both = harvest_here(
        *run, "-s", "beta-plugin:lines:in.txt", "-s", "alpha-plugin:lines:in.txt", cwd=folder
    )
    assert both.returncode == 2
    assert "source 'lines' of both beta-plugin 1.0 and alpha-plugin 1.0" in both.stderr

    loaded.clear()
    variables = {"HARVEST_PREFER": "alpha-plugin,absent-plugin"}
    preferred = harvest_here(*run, "-s", "lines:in.txt", "--json", cwd=folder, **variables)
    assert preferred.returncode == 0, preferred.stderr
    assert preferred.stderr == ""
    assert json.loads(preferred.stdout)["sources"][0]["partitions"] == 1

    listed = harvest_here("plugins", cwd=folder, **variables)
    assert "source 'lines' is declared by alpha-plugin and beta-plugin" in listed.stdout
    assert "used:   alpha-plugin (HARVEST_PREFER)" in listed.stdout
    assert "HARVEST_PREFER names absent-plugin, which is not installed" in listed.stdout


def test_a_group_of_commands_of_two(strangers, folder):
    done = harvest_here("vault", "open", cwd=folder)
    assert done.returncode == 2
    assert "command 'vault' is declared by alpha-plugin and beta-plugin" in done.stderr


def test_two_plugins_of_one_entry_point_name(folder):
    install(folder, "alpha-plugin", source="a", point="same")
    install(folder, "beta-plugin", source="b", point="same")

    found = PluginManager(points(folder), disabled="", preferred="")
    assert sorted(found.plugins) == ["alpha-plugin:same", "beta-plugin:same"]
    assert list(found.sources) == ["a", "b"]

    chosen = PluginManager(points(folder), disabled="", preferred="beta-plugin")
    assert sorted(chosen.plugins) == ["alpha-plugin:same", "same"]
    assert chosen.plugins["same"].distribution == "beta-plugin"
    without = PluginManager(points(folder), disabled="alpha-plugin:same", preferred="")
    assert [p.distribution for p in without] == ["beta-plugin"]
    assert list(PluginManager(points(folder), disabled="same", preferred="")) == []


# --- the project's own


@pytest.mark.parametrize("stranger", ["aaa", "hpc-harvest-a-better-slurm", "zzz"])
def test_the_project_s_own_names_stay_with_one_remark(folder, stranger, capsys):
    install(folder, stranger, source="slurm", point="slurm")
    (ours,) = (p for p in manager() if p.name == "slurm" and p.distribution.startswith("hpc-h"))

    found = PluginManager(disabled="", preferred="")
    for _ in range(2):
        cls = found.source("slurm")

    assert cls.__module__.startswith("harvest_slurm")
    assert found.plugins["slurm"].distribution == ours.distribution == "hpc-harvest-slurm"
    said = capsys.readouterr().err
    assert said == (
        f"harvest: source 'slurm' is hpc-harvest-slurm's; {stranger} declares it, too: write "
        + " or ".join(f"{name}:slurm" for name in sorted(("hpc-harvest-slurm", stranger)))
        + f", or set HARVEST_PREFER={stranger}\n"
    )
    assert found.source(f"{stranger}:slurm").__module__ == stranger.replace("-", "_")
    assert PluginManager(disabled="", preferred=stranger).source("slurm").__doc__ != cls.__doc__


def test_a_stranger_s_name_is_its_own_where_ours_is_not_installed(folder):
    install(folder, "aaa", source="slurm")
    found = PluginManager(points(folder), disabled="", preferred="")
    assert found.sources["slurm"].doc == "aaa"

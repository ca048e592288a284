"""Plugins that hear of commits: of which, in what state, and what their failing does."""

import sys
from pathlib import Path

import pytest
from datasets import plugins_with
from harvest_demo import DemoSource as Lines

import harvest
from harvest.dataset.repair import repair, replay
from harvest.plugins.registry import PluginManager, manager

LISTENER = """
from harvest import hookimpl

heard = []

@hookimpl
def harvest_committed(dataset, result):
    held = {name: dataset[name].collect().height for name in dataset}
    heard.append((dataset.sink.location, result and result.run, held))
"""
FAILING = """
from harvest import HarvestError, hookimpl

@hookimpl
def harvest_committed(open_dataset):
    assert open_dataset() is open_dataset()
    raise SystemExit("no such server")
"""


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """The plugins of this environment and some of this code."""

    def with_code(**codes: str) -> PluginManager:
        monkeypatch.syspath_prepend(tmp_path)
        for name, code in codes.items():
            (tmp_path / f"{name}_heard.py").write_text(code)
            monkeypatch.delitem(sys.modules, f"{name}_heard", raising=False)
        sinks = {name: f"harvest_{name}.plugin" for name in ("jsonl", "parquet")}
        return plugins_with(demo="harvest_demo", **sinks, **{n: f"{n}_heard" for n in codes})

    return with_code


@pytest.fixture
def inputs(tmp_path) -> Path:
    """A file of two lines, the second of which the source of ``harvest_demo`` rejects."""
    path = tmp_path / "lines.demo"
    path.write_text("one\nbad\n")
    return path


def heard() -> list[tuple[str, str | None, dict[str, int]]]:
    """What the listener has heard by now."""
    return sys.modules["good_heard"].heard


def test_a_listener_gets_the_new_state_and_the_result_of_each_dataset(plugins, inputs, tmp_path):
    found = plugins(good=LISTENER)
    outs = [str(tmp_path / "a"), str(tmp_path / "b")]
    sinks = [f"parquet:{outs[0]}", f"jsonl:{outs[1]}"]

    first = harvest.run(Lines(str(inputs)), sinks[:1], plugins=found)
    inputs.write_text("one\ntwo\n")
    second = harvest.run(Lines(str(inputs)), sinks, plugins=found)

    assert heard() == [
        (outs[0], first.run, {"demo.line": 1}),
        *((out, second.run, {"demo.line": 2}) for out in outs),
    ]


def test_what_changes_no_dataset_is_not_heard(plugins, inputs, tmp_path):
    found = plugins(good=LISTENER)
    places = Lines(str(inputs)), f"parquet:{tmp_path / 'a'}"

    harvest.run(*places, plugins=found, dry_run=True)
    assert heard() == []
    harvest.run(*places, plugins=found)
    assert harvest.run(*places, plugins=found).run is None
    assert len(heard()) == 1


@pytest.mark.parametrize("kind", ["SystemExit", "HarvestError"])
def test_a_failing_listener_is_a_remark_and_others_hear(plugins, inputs, tmp_path, capsys, kind):
    found = plugins(bad=FAILING.replace("SystemExit", kind), good=LISTENER)

    result = harvest.run(Lines(str(inputs)), f"parquet:{tmp_path / 'a'}", plugins=found)

    assert [run for _, run, _ in heard()] == [result.run]
    remark = capsys.readouterr().err
    assert remark.startswith(f"harvest: plugin 'bad' failed to hear of the commit to {tmp_path}")
    assert "no such server" in remark
    assert ("report this to its author" in remark) == (kind == "SystemExit")
    assert harvest.open(tmp_path / "a", plugins=found).verify() == []


def test_going_back_repair_and_replay_are_heard(plugins, inputs, tmp_path):
    found = plugins(good=LISTENER)
    out = tmp_path / "a"
    harvest.run(Lines(str(inputs)), f"parquet:{out}", plugins=found)
    heard().clear()

    done = replay(harvest.open(out, plugins=found))
    assert [run for _, run, _ in heard()] == [done.again.result.run]

    (row,) = (out / "demo.line").glob("*.parquet")
    row.write_bytes(b"")
    mended = repair(out, plugins=found)
    assert [run for _, run, _ in heard()][1:] == [mended.result.run]

    back = harvest.open(out, plugins=found).rollback(done.again.result.run)
    assert back is not None
    assert heard()[2:] == [(str(out), None, {"demo.line": 1})]
    assert harvest.open(out, plugins=found).rollback(back) is None
    assert len(heard()) == 3


def test_what_is_committed_before_a_run_fails_is_heard(plugins, inputs, tmp_path, monkeypatch):
    found = plugins(good=LISTENER)
    sink = manager().sink("jsonl")
    publish = sink.publish

    def full(self, *args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sink, "publish", full)
    sinks = [f"parquet:{tmp_path / 'a'}", f"jsonl:{tmp_path / 'b'}"]
    with pytest.raises(harvest.HarvestError, match="was committed"):
        harvest.run(Lines(str(inputs)), sinks, plugins=found)
    monkeypatch.setattr(sink, "publish", publish)

    assert [place for place, _, _ in heard()] == [str(tmp_path / "a")]

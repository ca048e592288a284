"""What a run gives its engine, and what it takes from it."""

import tracemalloc
from pathlib import Path

import pytest
from harvest_paced import PacedSource

import harvest
from harvest.api.source import Partition
from harvest.engines.pool import LocalEngine
from harvest.pipeline.deciding import Planned
from harvest.pipeline.plan import Plan
from harvest.pipeline.prepare import PreparedRun
from harvest.plugins.registry import manager
from harvest.recipes.endpoints import SourceUse
from harvest.recipes.recipe import Recipe


def planned(number: int, use: SourceUse) -> Planned:
    path = f"/scratch/logs/2026/{number:06}.log"
    return Planned(
        use=use, partition=Partition(id=path, origin=path, inputs=(path,), size_bytes=2_000),
        key=f"{number:016x}", fingerprint=f"{number:064x}", facts=bytes(16), config="c",
        run="20260101T000000-000000", read_for=(0,), staged_for={}, held_by=(),
    )  # fmt: skip


def plan_of(folder: Path, count: int) -> tuple[PreparedRun, Plan]:
    """A run that has so many tiny inputs to read."""
    use = SourceUse(source=PacedSource(str(folder)), settings={}, version="harvest-paced 1.0")
    sinks = [manager().sink("parquet")(str(folder / "out"))]
    run = PreparedRun(recipe=Recipe(), plugins=manager(), uses=[use], listed=[], sinks=sinks)
    todo = tuple(planned(number, use) for number in range(count))
    plan = Plan(
        partitions=todo, listed=[], unchanged=(), frozen=({},),
        replaced=(frozenset(),), dropped=(frozenset(),),
    )  # fmt: skip
    return run, plan


def test_tasks_are_made_when_they_are_given_out(tmp_path: Path):
    # given many tiny inputs
    run, plan = plan_of(tmp_path, 2_000)

    # when they are all given out
    tracemalloc.start()
    work = run.work(plan, plan.to_read)
    partitions = sum(len(bundle.prepare()) for bundle in work.bundles)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # then there are never more than those of some bundles, of about a kilobyte each
    assert partitions == 2_000
    assert peak < 64 * 2_048 + 100 * 2_000


# --- what comes back ------------------------------------------------------------------------------


class Twice(LocalEngine):
    """Gives each result twice, as one that took a slow worker for lost."""

    name = "twice"

    def run(self, work):
        for result in super().run(work):
            yield result
            yield result


class Own(LocalEngine):
    """Gives what it has made itself."""

    name = "own"

    def run(self, work):
        for result in super().run(work):
            yield result.origins


class Forgetful(LocalEngine):
    """Loses what it has read."""

    name = "forgetful"

    def run(self, work):
        for _ in super().run(work):
            pass
        return iter(())


class Engines:
    """A plugin that has them."""

    @harvest.hookimpl
    def harvest_engines(self):
        engines = (Twice, Own, Forgetful)
        return [harvest.EngineSpec(name=e.name, doc="d", factory=e) for e in engines]


def run_by(engine: str, folder: Path) -> harvest.RunResult:
    (folder / "in").mkdir()
    for number in range(3):
        (folder / "in" / f"f{number}").write_text("one\nbad\n")
    plugins = harvest.plugins_of(PacedSource, manager().sink("parquet"), Engines())
    return harvest.run(
        f"paced:{folder / 'in'}",
        f"parquet:{folder / 'out'}",
        engine=engine,
        max_rejects=3,
        plugins=plugins,
    )


def test_a_result_that_comes_twice_counts_once(tmp_path: Path):
    result = run_by("twice", tmp_path)

    assert (result.account.written, result.account.rejected) == (3, 3)


@pytest.mark.parametrize(
    ("engine", "told"),
    [
        ("forgetful", "'forgetful' gave no result for 3 of 3"),
        ("own", "the engine 'own' gives tuple, which is not a result"),
    ],
)
def test_an_engine_that_gives_too_few_or_other_results_commits_nothing(engine, told, tmp_path):
    with pytest.raises(harvest.PluginError, match=told):
        run_by(engine, tmp_path)

    assert not (tmp_path / "out" / "_harvest" / "manifest.json").exists()

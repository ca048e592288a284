"""Two clusters, one under Slurm and one under PBS: one set of sums over both record types."""

import sys
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import pytest
from polars.testing import assert_frame_equal
from scripts import run_script

import harvest
from harvest_testing import faults_of_columns

pytest.importorskip("harvest_pbs")
pytest.importorskip("harvest_slurm")
ROOT = Path(__file__).resolve().parents[1]

RUNS = """
with steps as (
  select cluster, job_id, job_submit_time as submit_time, sum(total_cpu_s) as used_s,
    bool_and(end_time is not null) as ended
  from '{out}/slurm.step/*.parquet' group by all
), slurm as (
  select 'slurm' as scheduler, j.*, nullif(coalesce(nullif(s.used_s, 0), j.total_cpu_s), 0) as used,
    coalesce(s.ended, true) as steps_ended,
    row_number() over (partition by j.cluster, j.job_id, j.submit_time
      order by end_time desc nulls last, start_time desc nulls last) as which
  from '{out}/slurm.job/*.parquet' j left join steps s using (cluster, job_id, submit_time)
), pbs as (
  select 'pbs' as scheduler, *, total_cpu_s as used, true as steps_ended,
    row_number() over (partition by cluster, job_id, start_time
      order by end_time desc nulls last) as which,
    max(start_time) over (partition by cluster, job_id) as started
  from '{out}/pbs.job/*.parquet'
), runs as (
  select scheduler, user, state, end_time, elapsed_s, alloc_cpus, used, steps_ended
  from slurm where which = 1
  union all by name
  select scheduler, user, state, end_time, elapsed_s, alloc_cpus, used, steps_ended
  from pbs where which = 1 and (start_time is not null or started is null)
), amounts as (
  select *, elapsed_s * alloc_cpus as given,
    case when end_time is not null and steps_ended and state not in ('pending', 'running')
      then used end as spent
  from runs
)
"""
SUMS = """
select {keys}, count(*) as jobs, sum(given) / 3600 as cpu_hours,
  sum(spent) filter (given is not null and elapsed_s > 0) / 3600 as cpu_used_hours,
  sum(given - spent) filter (elapsed_s > 0) / 3600 as cpu_wasted_hours,
  count(*) filter (state = 'completed') as completed,
  count(*) filter (state in
    ('failed', 'out_of_memory', 'timeout', 'deadline', 'node_fail', 'launch_failed')) as failed_jobs
from amounts group by {keys} order by {keys}
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> harvest.Dataset:
    """Two weeks of Slurm's example, and three daily logs of a server of PBS."""
    folder = tmp_path_factory.mktemp("both")
    run_script(ROOT / "examples" / "slurm-accounting" / "make_dump.py", folder / "sacct.txt")
    sys.path.insert(0, str(ROOT / "plugins" / "pbs" / "tests"))
    from generate_pbs import Server  # the tests of another distribution

    zone = ZoneInfo("America/Chicago")
    records = Server(7, zone).records(datetime(2026, 3, 3, tzinfo=UTC), every=40)
    (folder / "pbs").mkdir()
    days: dict[str, list[str]] = {}
    for line in islice(records, 6_000):
        days.setdefault(line[:10], []).append(line)
    for day, lines in days.items():
        text = "\n".join(line.rstrip("\n") for line in lines)
        (folder / "pbs" / day.replace("/", "")).write_text(f"{text}\n")
    zones = {name: {"timezone": "America/Chicago"} for name in ("slurm", "pbs")}
    sources = [f"slurm:{folder / 'sacct.txt'}", f"pbs:{folder / 'pbs'}"]
    harvest.run(sources, f"parquet:{folder / 'out'}", settings=zones, workers=1)
    return harvest.open(folder / "out")


@pytest.mark.slow
@pytest.mark.parametrize("keys", ["scheduler", "scheduler,user", "state"])
def test_sums_are_those_of_sql_over_both_record_types(both, keys):
    """Hours of a run that started in one day's log and ended in the next count once."""
    out = both.sink.location
    assert not {"pbs.job", "slurm.job"} - set(both.record_types)
    known = duckdb.sql(RUNS.format(out=out) + SUMS.format(keys=keys)).pl()
    found = both.view("jobs.usage", by=keys).collect()
    columns = known.columns
    rows = {tuple(row[k] for k in keys.split(",")): row for row in found.iter_rows(named=True)}
    assert len(rows) == known.height > 1
    for row in known.iter_rows(named=True):
        mine = rows[tuple(row[k] for k in keys.split(","))]
        for name in columns:
            if isinstance(row[name], float):
                assert mine[name] == pytest.approx(row[name], rel=1e-9), (row, name)
            else:
                assert mine[name] == row[name], (row, name)


@pytest.mark.slow
def test_one_scheduler_of_both_is_what_its_own_views_show(both):
    for name in ("slurm", "pbs"):
        own = both.view(f"{name}.usage", by="account", month="2026-03").collect()
        chosen = both.view("jobs.usage", by="account", month="2026-03", scheduler=name).collect()
        assert_frame_equal(own, chosen, check_row_order=False)
    assert {"jobs.usage", "slurm.usage", "pbs.usage"} <= set(both.views())


WIDEST = {
    "usage": {"by": "scheduler,month,day,cluster,account,user,partition,qos,state,name"},
    "reasons": {"by": "scheduler,month,day,cluster,account,user,partition,qos,state,name,node"},
    "trend": {"by": "scheduler,cluster,account,user,partition,qos,state,name"},
}


@pytest.mark.slow
@pytest.mark.parametrize("prefix", ["jobs", "pbs"])
def test_views_give_the_columns_that_they_declare_with_a_meaning(both, prefix):
    faults = set()
    for name in (name for name in both.plugins.views if name.startswith(f"{prefix}.")):
        wide = WIDEST.get(name.partition(".")[2], {})
        if prefix == "pbs" and wide:
            wide = {"by": wide["by"].removeprefix("scheduler,")}
        found = faults_of_columns(both, name, [{}, wide])
        # which sums are null where, the meanings of slurm.usage say for all
        faults |= {(name, fault) for fault in found if "is null somewhere" not in fault}
    assert faults == set()

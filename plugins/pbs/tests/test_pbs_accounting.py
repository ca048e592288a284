"""Runs of jobs in the views of hpc-harvest-accounting."""

from pbs_logs import ended, line, started

import harvest


def test_a_job_that_ran_again_waited_from_the_end_of_its_run_before(tmp_path):
    """Its log has the first submission in both runs, and a start without an end the day before."""
    again = ended("7.s", start=1772446000).replace("run_count=1", "run_count=2")
    lone = ended("8.s", start=1772446000).replace("run_count=1", "run_count=3")
    lines = [ended("7.s", kind="R"), again, lone, started("9.s")]
    (tmp_path / "20260302").write_text("".join(f"{each}\n" for each in lines))
    queued = line("Q", "10.s", "queue=workq user=ann ctime=1772442000", "23:59:00")
    (tmp_path / "20260303").write_text(f"{ended('9.s')}\n{queued}\n".replace("03/02", "03/03", 1))
    harvest.run(f"pbs:{tmp_path}", f"parquet:{tmp_path / 'out'}", workers=1)
    data = harvest.open(tmp_path / "out")

    runs = data.view("pbs.jobs").collect().to_dicts()
    waits = {(run["job_id"], run["restart"]): run["wait_s"] for run in runs}
    # 1772442000 + 2 s + 60 s is the end of the first run; of job 8, the runs before are not known
    assert waits == {
        ("7.s", 0): 2.0, ("7.s", 1): 1772446000 - 1772442062, ("8.s", 0): None, ("9.s", 0): 2.0,
        ("10.s", 0): None,
    }  # fmt: skip
    (row,) = data.view("pbs.usage", by="user").collect().to_dicts()
    assert (row["jobs"], row["requeued"], row["not_ended"]) == (5, 1, 1)
    assert row["cpu_hours"] == 4 * 4 * 58 / 3600


def test_a_run_that_was_never_sampled_has_no_known_use(tmp_path):
    """A job of moments has 0 in its log, and a sampled one may have used less than a second."""
    used = "resources_used.cput=00:00:00 resources_used.mem={} "
    lines = [ended(f"{kb}.s", more=used.format(f"{kb}kb")) for kb in (0, 8)]
    (tmp_path / "20260302").write_text("".join(f"{each}\n" for each in lines))
    harvest.run(f"pbs:{tmp_path}", f"parquet:{tmp_path / 'out'}", workers=1)

    runs = harvest.open(tmp_path / "out").view("pbs.jobs").sort("job_id").collect()

    assert runs.select("cpu_s", "mem_used_bytes").rows() == [(None, None), (0.0, 8192)]


def test_an_array_that_waited_at_midnight_gives_way_to_its_tasks(tmp_path):
    """It is a row of the first log; the second log has its tasks."""
    tasks = [f"{ended(f'7[{index}].s')}\n" for index in (1, 2)]
    whole = [f"{started('7[].s')}\n", *tasks, f"{ended('7[].s')}\n"]
    queued = [f"{line('Q', f'{job}[].s', 'queue=workq user=ann')}\n" for job in (7, 8)]
    (tmp_path / "20260301").write_text("".join(queued))
    (tmp_path / "20260302").write_text("".join(whole))
    harvest.run(f"pbs:{tmp_path}", f"parquet:{tmp_path / 'out'}", workers=1)

    runs = harvest.open(tmp_path / "out").view("pbs.jobs").collect()

    assert sorted(runs.select("job_id", "state").rows()) == [
        ("7[1].s", "completed"), ("7[2].s", "completed"), ("8[].s", "pending"),
    ]  # fmt: skip


def test_a_job_that_waited_at_midnight_and_was_deleted_next_day_is_cancelled(tmp_path):
    """Its deletion is all that the second log says of it; another job goes on waiting."""
    queued = [
        f"{line('Q', f'{job}.s', f'queue=workq user=ann{time}')}\n"
        for job, time in ((7, " ctime=1772442000"), (8, " ctime=1772442000"), (9, ""))
    ]
    deleted = [
        line("D", f"{job}.s", "requestor=root@adm").replace("03/02/", "03/03/", 1) for job in (7, 9)
    ]
    (tmp_path / "20260302").write_text("".join(queued))
    (tmp_path / "20260303").write_text("".join(f"{each}\n" for each in deleted))
    harvest.run(f"pbs:{tmp_path}", f"parquet:{tmp_path / 'out'}", workers=1)

    data = harvest.open(tmp_path / "out")

    runs = data.view("pbs.jobs").sort("job_id").collect()
    assert runs["state"].to_list() == ["cancelled", "pending", "cancelled"]
    assert runs["state_by"].to_list() == ["root@adm", None, "root@adm"]
    assert runs["end_time"].dt.day().to_list() == [3, None, 3]
    assert runs["wait_s"].null_count() == 3
    (row,) = data.view("pbs.usage", by="user").collect().to_dicts()
    assert (row["jobs"], row["cancelled"], row["not_ended"]) == (3, 2, 1)
    assert (row["cpu_hours"], row["cpu_unknown_jobs"]) == (0.0, 0)  # none of them ran

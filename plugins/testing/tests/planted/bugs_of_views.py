"""Bugs of views and reports, one for each promise that has one."""

from planted.planting import bug

BUGS = (
    bug("views", "test_absent_record_types_are_empty", "fails-without-rows",
        "Over a dataset without transfers it ends with an error.",
        ("    grouped = (\n",
         '    last = dataset["planted.transfer"].select(pl.col("time").max()).collect().item()\n'
         "    last.isoformat()\n    grouped = (\n")),
    bug("views", "test_it_is_lazy", "views-collects-when-built",
        "All rows are read into memory when the view is built, also where only its columns are asked for.",
        ("""\
        dataset["planted.transfer"]
        .group_by("host", day=day)
""",
         """\
        dataset["planted.transfer"]
        .collect()
        .lazy()
        .group_by("host", day=day)
""")),
    bug("views", "test_no_answer_is_kept", "unknown-hosts-anywhere",
        "The answer is not sorted at all: each question gives another order.",
        ('.sort("day", "host", nulls_last=True)', "")),
    bug("joined", "test_settings_have_an_effect", "longest-ignored",
        "The setting 'longest_s' is accepted, and one second is used.",
        ("long=known > longest_s", "long=known > 1.0")),
    bug("joined", "test_the_answer_is_always_the_same", "same-time-no-order",
        "Transfers that begin at one moment have no order.",
        ('.sort("time", "origin", "position")\n\n\nWITH_JOB', '.sort("time")\n\n\nWITH_JOB')),
    bug("joined", "test_the_schema_does_not_depend_on_rows",
        "sixth-joined-fewer-columns-without-jobs",
        "Where the dataset has no jobs, the columns that come of them are missing instead of "
        "null: whatever asks for them, such as the report, ends with an error there.",
        ("    jobs = (\n",
         '    if "planted.job" not in dataset:\n'
         '        known = ("time", "run", "job", "host", "size_bytes")\n'
         '        transfers = dataset["planted.transfer"]\n'
         '        long = pl.col("duration_s") > longest_s\n'
         '        rows = transfers.select(*known, long.alias("long"), "origin", '
         '"position")\n'
         '        return rows.sort("time", "origin", "position")\n'
         "    jobs = (\n")),
    bug("joined", "test_ties_have_an_order", "positions-anew",
        "Positions number the rows of the answer, and no longer say where a row was read.",
        ('        position="position",\n', "        position=pl.int_range(1, pl.len() + 1),\n")),
    bug("views", "test_unknown_is_not_zero", "mean-with-zeros",
        "Durations that nobody knows count as 0 in the mean.",
        ('pl.col("duration_s").mean()', 'pl.col("duration_s").fill_null(0.0).mean()')),
    bug("report", "test_absent_record_types_are_empty", "first-host-of-none",
        "Over a dataset without transfers it ends with an error.",
        ("    shown, rest =", "    hosts.row(0)\n    shown, rest =")),
    bug("report", "test_asking_leaves_nothing_behind", "sixth-report-writes-where-it-is-called",
        "Each report writes hosts.csv into the working directory, over a file of the user's own "
        "of that name; where that cannot be written, there is no report.",
        ("    shown, rest = hosts.head(top), hosts.slice(top)\n",
         '    hosts.write_csv("hosts.csv")\n'
         "    shown, rest = hosts.head(top), hosts.slice(top)\n")),
    bug("report", "test_no_answer_is_kept", "fourth-report-days-kept-by-location",
        "What the view gave is kept by the dataset's location for as long as the process lives: a"
        " server or notebook shows the hosts of the first state after every later harvest.",
        ("\n\ndef summary(dataset",
         "\n\n_DAYS: dict[str, pl.DataFrame] = {}\n"
         '"""By location: the view is dear, and asked for with every page."""'
         "\n\n\ndef summary(dataset"),
        ('    days = dataset.view("planted.per_host").collect()\n',
         "    location = str(dataset.sink.location)\n"
         "    if location not in _DAYS:\n"
         '        _DAYS[location] = dataset.view("planted.per_host").collect()\n'
         "    days = _DAYS[location]\n")),
    bug("report", "test_settings_have_an_effect", "top-ignored",
        "The setting 'top' is accepted, and ten hosts are shown.",
        ("shown, rest = hosts.head(top), hosts.slice(top)",
         "shown, rest = hosts.head(10), hosts.slice(10)")),
    bug("report", "test_the_answer_is_always_the_same", "title-of-now",
        "The title tells the moment of printing: two prints of one dataset differ.",
        ("import polars as pl\n", "from datetime import UTC, datetime\n\nimport polars as pl\n"),
        ('        "Transfers",\n', '        f"Transfers, {datetime.now(UTC):%H:%M:%S.%f}",\n')),
    bug("report", "test_ties_have_an_order", "users-without-order",
        "Users with as many bytes have no order: two prints differ.",
        ('users.sort("size_bytes", "user", descending=[True, False], nulls_last=True)',
         'users.sort("size_bytes", descending=True)')),
)  # fmt: skip

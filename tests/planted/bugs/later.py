"""The second set's bugs of views, sinks, an exporter and an engine."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

JOBS: Final = '        .unique(("run", "job"), keep="last", maintain_order=True)\n'

LATER: Final = (
    Bug(
        "views",
        "unknown is zero",
        "mean-with-zeros",
        "Durations that nobody knows count as 0 in the mean.",
        (('pl.col("duration_s").mean()', 'pl.col("duration_s").fill_null(0.0).mean()'),),
    ),
    Bug(
        "views",
        "order",
        "unknown-hosts-anywhere",
        "The answer is not sorted at all: each question gives another order.",
        (('.sort("day", "host", nulls_last=True)', ""),),
    ),
    Bug(
        "views",
        "units",
        "counts-are-floats",
        "Numbers of transfers are floats: 3.0 transfers.",
        (("transfers=pl.len(),", "transfers=pl.len().cast(pl.Float64),"),),
        "of which type a column is, a View does not declare",
    ),
    Bug(
        "joined",
        "order",
        "any-of-two-jobs",
        "Of a job that was queued again any row is taken: users of one transfer differ.",
        ((JOBS, '        .unique(("run", "job"), keep="any")\n'),),
    ),
    Bug(
        "joined",
        "nulls",
        "unknown-is-a-user",
        "A user that is not known is called 'unknown', as if it were somebody.",
        (('        "user",\n', '        pl.col("user").fill_null("unknown"),\n'),),
    ),
    Bug(
        "joined",
        "times",
        "times-cut",
        "Times are cut to seconds, and rows no longer match those of the record type.",
        (
            (
                '        "time",\n        "run"',
                '        pl.col("time").dt.truncate("1s"),\n        "run"',
            ),
        ),
    ),
    Bug(
        "joined",
        "settings",
        "longest-ignored",
        "The setting 'longest_s' is accepted, and one second is used.",
        (("long=known > longest_s", "long=known > 1.0"),),
    ),
    Bug(
        "report",
        "nulls",
        "hosts-without-name-left-out",
        "Transfers whose host is not known are in neither rows nor total.",
        (("    hosts = days.group_by", '    hosts = days.drop_nulls("host").group_by'),),
    ),
    Bug(
        "csvsink",
        "numbers",
        "minus-zero",
        "A -0.0 comes back as 0.0.",
        (("return value if math.isfinite(value)", "return value + 0.0 if math.isfinite(value)"),),
    ),
    Bug(
        "csvsink",
        "nulls",
        "empty-lists-are-null",
        "An empty list comes back as null.",
        (
            (
                "        return [simple(each, kind.value_type) for each in value]",
                "        return [simple(each, kind.value_type) for each in value] or None",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "texts changed",
        "one-kind-of-line-end",
        "A carriage return in a text comes back as a newline.",
        (
            (
                "    return value\n\n\ndef understood",
                '    return value.replace("\\r", "\\n") if isinstance(value, str) else value\n\n\ndef understood',
            ),
        ),
    ),
    Bug(
        "csvsink",
        "texts changed",
        "texts-cut-at-32767",
        "Texts are cut at 32,767 characters, as a spreadsheet does.",
        (
            (
                "    return value\n\n\ndef understood",
                "    return value[:32767] if isinstance(value, str) else value\n\n\ndef understood",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "columns",
        "extra-left-out",
        "The column 'extra' is not written.",
        (
            ("writerow(table.column_names)", 'writerow(table.drop_columns("extra").column_names)'),
            (
                "        lines = csv.writer(self.open[name])\n",
                '        table = table.drop_columns("extra")\n        lines = csv.writer(self.open[name])\n',
            ),
        ),
    ),
    Bug(
        "csvsink",
        "order",
        "files-in-any-order",
        "Rows of parts come back in an order that is not the dataset's.",
        (
            (
                "for path in self.paths(f for f in files if f.record_type == record_type.name):",
                "for path in sorted(self.paths(f for f in files if f.record_type == record_type.name), key=str, reverse=True):",
            ),
        ),
    ),
    Bug(
        "sqlitesink",
        "surroundings",
        "time-in-the-file",
        "The time of writing stands in the file: equal rows give other bytes.",
        (
            ("import sqlite3\n", "import sqlite3\nimport time\n"),
            (
                '            database.execute(f"CREATE TABLE rows ({names})")\n',
                '            database.execute(f"CREATE TABLE rows ({names})")\n            database.execute(f"CREATE TABLE written_{time.time_ns()} (at)")\n',
            ),
        ),
    ),
    Bug(
        "sqlitesink",
        "foreign changes",
        "missing-file-is-empty",
        "A database that somebody removed counts as one without rows.",
        (
            (
                "            tables.append(conform(record_type, read(path, record_type)))",
                "            if path.exists():\n                tables.append(conform(record_type, read(path, record_type)))",
            ),
        ),
    ),
    Bug(
        "exporter",
        "nulls",
        "null-as-text",
        "A null is exported as the text 'None'.",
        (
            (
                ".collect().to_dicts()",
                ".collect().cast(pl.String, strict=False).fill_null('None').to_dicts()",
            ),
            ("import harvest\n", "import polars as pl\n\nimport harvest\n"),
        ),
        "how a format writes what is not known is its own",
    ),
    Bug(
        "exporter",
        "left behind",
        "lock-left-behind",
        "A lock file stays beside the target.",
        (
            (
                "    return [Path(target)]\n",
                '    Path(f"{target}.lock").touch()\n    return [Path(target)]\n',
            ),
        ),
    ),
    Bug(
        "engine",
        "errors swallowed",
        "workers-for-ever",
        "Workers that die again and again are replaced without end, whatever 'retries' says.",
        (("if lost > self.config.retries:", "if lost < 0:"),),
    ),
)

"""Bugs of a source whose partitions are of several files, read in columns."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

INPUTS: Final = 'if file.suffix == ".csv" or file.name == SITE]'
REJECTED: Final = "ctx.reject(raw, row["
UNREADABLE: Final = (
    "                ctx.read(1)\n"
    '                ctx.reject(b"", f"cannot be read: {error}", origin=printable(name))\n'
)

STATIONS: Final = (
    Bug(
        "stations",
        "identity",
        "site-is-no-input",
        "station.json is read and is no input: when it is corrected, the rows stay as they are.",
        (
            (
                "inputs=tuple(map(str, inputs)),",
                "inputs=tuple(str(f) for f in inputs if f.name != SITE),",
            ),
            ("    if str(path) not in partition.inputs:", "    if not path.exists():"),
        ),
    ),
    Bug(
        "stations",
        "identity",
        "first-file-is-input",
        "Only the first file of a station is an input: changes of the others are never read.",
        (
            (
                "inputs=tuple(map(str, inputs)),",
                'inputs=(str(inputs[0]),), options={"files": tuple(map(str, inputs))},',
            ),
            ("for name in partition.inputs:", 'for name in partition.options["files"]:'),
            ("    if str(path) not in partition.inputs:", "    if not path.exists():"),
        ),
    ),
    Bug(
        "stations",
        "plan_files",
        "changed-files-alone",
        "plan_files gives a station with the changed files alone: rows of the others leave the dataset.",
        (
            (
                "            if inputs := inputs_among(there):",
                "            if inputs := inputs_among([file for file in there if file in files]):",
            ),
        ),
    ),
    Bug(
        "stations",
        "order",
        "order-of-the-directory",
        "Files of a station come as the file system lists them: a copy gives another order.",
        (
            (
                f"    return [file for file in files {INPUTS}",
                f"    return sorted((file for file in files {INPUTS[:-1]}), key=lambda f: f.lstat().st_ino)",
            ),
        ),
    ),
    Bug(
        "stations",
        "one bad value takes more",
        "value-fails-the-run",
        "A value that is no number ends the user's whole run.",
        ((".cast(pl.Float64, strict=False)", ".cast(pl.Float64)"),),
    ),
    Bug(
        "stations",
        "errors swallowed",
        "unreadable-is-noted",
        "A file that cannot be read is noted and no reject: the run ends as if all were there.",
        (
            (
                UNREADABLE,
                '                ctx.note(f"cannot be read: {error}", origin=printable(name))\n',
            ),
        ),
    ),
    Bug(
        "stations",
        "errors swallowed",
        "damage-skipped",
        "Lines with too few values are neither counted nor rejected.",
        (
            (
                "ctx.read(len(block) + len(block.damages) + block.blank)",
                "ctx.read(len(block) + block.blank)",
            ),
            ("for damage in block.damages:", "for damage in ():"),
        ),
    ),
    Bug(
        "stations",
        "position",
        "positions-of-blocks",
        "Positions count from 1 in each block of the file.",
        (
            (
                "pl.Series(block.numbers, dtype=pl.Int64)",
                "pl.int_range(2, pl.len() + 2, dtype=pl.Int64)",
            ),
        ),
    ),
    Bug(
        "stations",
        "position",
        "records-not-lines",
        "Positions count records and not lines, so that editors show another place.",
        (("tables(path, names, count_lines=True)", "tables(path, names)"),),
        "what a position counts, the format says: records or lines",
    ),
    Bug(
        "stations",
        "origin",
        "origin-is-the-directory",
        "Rows name the station's directory as their origin, and not the file that they are of.",
        (("                origin=pl.lit(origin),\n", ""),),
    ),
    Bug(
        "stations",
        "reject's text",
        "raw-of-values",
        "The text of a reject is put together from its values: quotes are lost.",
        (
            (
                'raw = block.raw(row["row"])',
                'raw = ",".join(v or "" for v in texts.slice(row["row"], 1).to_pylist()[0].values())',
            ),
        ),
    ),
    Bug(
        "stations",
        "unknown is zero",
        "no-value-is-zero-here",
        "A value that the sensor did not give is 0.",
        (("        value=value,", "        value=value.fill_null(0.0),"),),
        "CSV has no null: what an empty field means, the format says",
    ),
    Bug(
        "stations",
        "times",
        "clock-of-the-station",
        "The offset of a time is ignored, and its clock is taken for UTC.",
        (
            (
                'time = pl.col("time").str.to_datetime(TIME, time_unit="us", strict=False)',
                'time = pl.col("time").str.replace(r"[+-]\\d\\d:\\d\\d$", "+00:00")\n'
                '    time = time.str.to_datetime(TIME, time_unit="us", strict=False)',
            ),
        ),
    ),
    Bug(
        "stations",
        "surroundings",
        "site-by-locale",
        "station.json is read in the locale's encoding: on another machine the site is garbled.",
        (("json.loads(path.read_bytes())", "json.loads(path.read_text(encoding='locale'))"),),
    ),
    Bug(
        "stations",
        "errors end the run",
        "site-ends-the-run",
        "A station.json without a site ends the user's whole run.",
        (("(OSError, ValueError, KeyError, TypeError, RecursionError)", "(OSError, ValueError)"),),
    ),
)

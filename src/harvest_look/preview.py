"""``harvest detect`` and ``harvest preview``: inspect inputs before a run."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs
import pyarrow as pa

import harvest
from harvest import Partition, ReadContext, RecordType, SourceError, UsageError, interrupt
from harvest.commands import RunOptions, remark
from harvest.commands.declared import columns_of_record
from harvest.commands.inputs import Known, Reader, beginnings, readers, survey
from harvest.commands.tables import print_json, print_table
from harvest.plugin_code import contained
from harvest.plugins import manager
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import printable, printable_line
from harvest_report.records import Style, print_records, print_rows_as_json


@attrs.frozen
class FirstRows:
    """The first rows of a record type, and the count of all rows seen."""

    kind: RecordType
    rows: pa.Table
    seen: int


@attrs.define
class Preview:
    """First rows per record type, and the source's remarks.

    complete: whether all rows were read; reading stops after enough rows.
    """

    tables: dict[str, FirstRows] = attrs.field(factory=dict)
    remarks: list[str] = attrs.field(factory=list)
    complete: bool = True


@contained()
def first_rows(reader: Reader, count: int) -> Preview:
    """Read up to ``count`` rows of every record type, and stop once all have as many."""
    preview = Preview()
    refused: SourceError | None = None
    for partition in reader.partitions():
        try:
            _add(preview, reader, partition, count)
        except SourceError as error:
            refused = refused or error
            preview.remarks.append(printable_line(str(error)))
        if _enough(preview, reader, count):
            preview.complete = False
            break
    if reader.cut is not None:
        preview.complete = False
        preview.remarks.append(reader.cut)
    if refused is not None and not preview.tables:
        raise refused
    preview.tables = dict(sorted(preview.tables.items()))
    return preview


def _enough(preview: Preview, reader: Reader, count: int) -> bool:
    full = {name for name, found in preview.tables.items() if found.rows.num_rows >= count}
    return full >= {harvest.record_type(cls).name for cls in reader.source.record_types}


def _add(preview: Preview, reader: Reader, partition: Partition, count: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        ctx = ReadContext(printable(partition.origin), Path(scratch))
        for kind, table in reader.tables(partition, ctx):
            interrupt.check()
            found = preview.tables.get(kind.name)
            found = found or FirstRows(kind, kind.arrow_schema.empty_table(), 0)
            need = max(0, count - found.rows.num_rows)
            rows = pa.concat_tables([found.rows, table.slice(0, need)])
            preview.tables[kind.name] = FirstRows(kind, rows, found.seen + table.num_rows)
            if _enough(preview, reader, count):
                break
    for reject in ctx.rejects[:count]:
        record = "" if reject.position is None else f", record {reject.position}"
        said = f"{printable_line(reject.origin)}{record}: {printable_line(reject.reason)}"
        preview.remarks.append(f"rejected {said}")
    if len(ctx.rejects) > count:
        preview.remarks.append(
            f"{len(ctx.rejects) - count:,} more rejected of {printable_line(partition.origin)}"
        )
    preview.remarks += [
        f"note {printable_line(n.origin)}: {printable_line(n.text)}" for n in ctx.notes
    ]


PLACES_SHOWN: Final = 3


def print_sources(paths: Sequence[Path], *, json: bool) -> int:
    """Print which sources can read paths; return 1 when no source recognises one of them."""
    for path in paths:
        if "://" in str(path) or ":/" in str(path):
            # an address may contain a password, so it is not printed
            remedy = "name its source: harvest preview -s NAME:ADDRESS"
            raise UsageError("this is an address, not a path", remedy=remedy)
    rows: list[tuple[str, str | None, float | None, str]] = []
    sources = tuple(harvest.Endpoint(None, str(path)) for path in paths)
    with beginnings(harvest.Recipe(sources=sources)) as recipe:
        for endpoint in recipe.sources:
            shown = endpoint.location
            seen = survey(Path(endpoint.place), manager())
            found = sorted((*seen.known, *seen.doubtful), key=lambda each: -each.confidence)
            rows += [(shown, k.source, k.confidence, _reason(k, seen.root)) for k in found]
            if not found:
                rows.append((shown, None, None, "no source recognises it"))
    if json:
        keys = ("path", "source", "confidence", "reason")
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
    else:
        table = [(p, s, None if c is None else f"{c:.0%}", r) for p, s, c, r in rows]
        print_table(("path", "source", "sure", "because"), table, prose=("because",))
    return int(any(source is None for _, source, _, _ in rows))


def _reason(known: Known, root: Path) -> str:
    """Return a source's reason; for a directory, with the files that it recognises there."""
    if root.is_file():
        return known.reason
    files = count_in_words(known.files, "file")
    if known.locations != (root,):
        places = [str(place.relative_to(root.parent)) for place in known.locations]
        more = ", ..." if len(places) > PLACES_SHOWN else ""
        files += f" at {', '.join(map(printable_line, places[:PLACES_SHOWN]))}{more}"
    return f"{files}: {known.reason} ({known.example.relative_to(root)})"


def print_first_rows(
    source: str, rows: int, settings: list[str] | None, *, json: bool, exact: bool, wide: bool
) -> int:
    """Print the first rows of a source."""
    style = Style(exact=exact, wide=wide)
    given = RunOptions(None, [source], None, settings, wait_s=0, run={})
    with beginnings(given.recipe()) as recipe:
        found, choices = readers(recipe)
        for line in choices:
            remark(line)
        for reader in found:
            _print(first_rows(reader, rows), style, json=json)
    return 0


def _print(found: Preview, style: Style, *, json: bool) -> None:
    for name, first in found.tables.items():
        if json:
            print_rows_as_json(name, first.rows)
            continue
        known = columns_of_record(first.kind)
        print_records(name, first.rows, known, style, total=first.seen, more=not found.complete)
    for line in found.remarks:
        remark(line)

"""A dataset as an RO-Crate: its files with what they are, where they come from, and who made them.

The crate follows the Process Run Crate profile 0.5 of the Workflow Run RO-Crate collection
(https://w3id.org/ro/wfrun/process/0.5) on RO-Crate 1.1: each run of harvest that wrote the
dataset is an action, whose instrument is harvest, whose objects are the sources that it read, and
whose results are the record types that it left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from importlib.metadata import PackageNotFoundError, metadata
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from harvest import DatasetError, UsageError
from harvest.toolkit.files import new_directory
from harvest.toolkit.plain import checksum

if TYPE_CHECKING:
    from harvest import Dataset

PROFILE: Final = "https://w3id.org/ro/wfrun/process/0.5"
CRATE_VERSION: Final = "1.1"
SHA256: Final = {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}
"""A term of the profile's context, stated here so that nothing has to be fetched."""

FORMATS: Final = {
    ".parquet": "application/vnd.apache.parquet",
    ".jsonl": "application/jsonl",
    ".gz": "application/gzip",
    ".zst": "application/zstd",
}
_COUNTS: Final = ("read", "written", "filtered", "folded", "rejected")
_ORCID: Final = re.compile(
    r"\s*(?P<name>[^,]+?)\s*,\s*(?:https://orcid\.org/)?(?P<id>[\d-]{18}[\dX])"
)


def export(
    dataset: Dataset,
    target: str,
    *,
    license: str | None = None,  # noqa: A002 - as users name the setting
    title: str | None = None,
    description: str | None = None,
    authors: str | Iterable[str] = (),
    publisher: str | None = None,
) -> list[Path]:
    """Write a crate with a copy of the dataset's files to a directory; gives its files.

    license: an SPDX identifier (``CC-BY-4.0``) or a URL. publisher: name of an organisation.
    authors: names, each with an ORCID iD if there is one: ``Ada Lovelace, 0000-0002-1825-0097``;
    one after another, or one text with semicolons between them.
    Raises UsageError without a licence, for another ORCID iD, and where the directory exists;
    DatasetError where a file of the dataset is missing or changed.
    """
    if license is None:
        raise UsageError(
            "an RO-Crate needs a licence",
            remedy="give --license with an SPDX identifier, for example CC-BY-4.0, or a URL",
        )
    each = authors.split(";") if isinstance(authors, str) else authors
    with new_directory(Path(target)) as incomplete:
        problems = dataset.problems()
        if problems:
            lasting = all(problem.lasting for problem in problems)
            raise DatasetError(
                f"verifying finds a problem: {problems[0].text}",
                where=str(dataset.sink.location),
                remedy=None if lasting else "run `harvest verify DATASET --repair` first",
            )
        crate = ROCrate(version=CRATE_VERSION)
        crate.metadata.extra_terms.update(SHA256)
        rows = sum(dataset.record_types.values())
        sources = ", ".join(dataset.accounts()["source"].unique().sort())
        crate.name = title or f"Metadata harvested by {sources}"
        crate.description = description or (
            f"{rows:,} records of {len(dataset.record_types)} types, harvested by the sources "
            f"{sources}."
        )
        _add_license(crate, license)
        crate.root_dataset["conformsTo"] = _add(
            crate, PROFILE, "CreativeWork", name="Process Run Crate", version="0.5"
        )
        kinds = [_add_record_type(crate, dataset, name) for name in dataset]
        people = _add_people(crate, [author.strip() for author in each if author.strip()])
        if publisher:
            crate.publisher = _add(crate, "#publisher", "Organization", name=publisher)
        _add_runs(crate, dataset, kinds, people)
        crate.write(incomplete)
    return sorted(path for path in Path(target).rglob("*") if path.is_file())


def _add_license(crate: Any, given: str) -> None:
    place = given if given.startswith(("http:", "https:")) else f"https://spdx.org/licenses/{given}"
    name = given.rstrip("/").rpartition("/")[2]
    crate.license = _add(
        crate, place, "CreativeWork", name=name, description=f"The license {name}", identifier=place
    )


def _add(crate: Any, entity: str, kind: str, **properties: Any) -> Any:
    """Add an entity other than a file, once per identifier."""
    known = crate.get(entity)
    if known is not None:
        return known
    given = {"@type": kind, **{k: v for k, v in properties.items() if v is not None}}
    return crate.add(ContextEntity(crate, entity, properties=given))


def _add_record_type(crate: Any, dataset: Dataset, name: str) -> Any:
    """Add the files and the schema of a record type as one part of the crate."""
    kind = dataset.record_type(name)
    root = Path(dataset.sink.location)
    paths = {file.path: file for file in dataset.files(name)}
    schema = crate.add_file(
        StringIO(orjson.dumps(kind.json_schema(), option=orjson.OPT_INDENT_2).decode() + "\n"),
        f"schemas/{name}.schema.json",
        properties={
            "name": f"Schema of {name}",
            "description": f"JSON Schema of a record: {_first_sentence(kind.doc)}",
            "encodingFormat": "application/schema+json",
        },
    )
    files = []
    for path, file in sorted(paths.items()):
        place = root / path if root.is_dir() else root
        files.append(
            crate.get(f"data/{path}")
            or crate.add_file(
                place,
                f"data/{path}",
                properties={
                    "name": path,
                    "description": f"Records of {file.record_type}",
                    "encodingFormat": FORMATS.get(place.suffix, "application/octet-stream"),
                    "contentSize": str(place.stat().st_size),
                    "sha256": checksum(place),
                    "conformsTo": {"@id": schema.id},
                },
            )
        )
    collection = _add(
        crate,
        f"#record-type-{name}",
        "Collection",
        name=name,
        description=f"{_first_sentence(kind.doc)} {dataset.record_types[name]:,} records.",
        hasPart=_one_or_all([{"@id": file.id} for file in files]),
        mainEntity={"@id": files[0].id},
    )
    crate.root_dataset.append_to("mentions", collection)
    return collection


def _first_sentence(doc: str) -> str:
    return " ".join(doc.partition("\n\n")[0].split())


def _add_people(crate: Any, authors: list[str]) -> list[Any]:
    people = []
    for number, author in enumerate(authors):
        orcid = _ORCID.fullmatch(author)
        if "," in author and orcid is None:
            raise UsageError(
                f"{author!r} is not a name and an ORCID iD",
                remedy="write it like 'Ada Lovelace, 0000-0002-1825-0097'",
            )
        identifier = f"https://orcid.org/{orcid['id']}" if orcid else f"#person-{number + 1}"
        people.append(_add(crate, identifier, "Person", name=orcid["name"] if orcid else author))
    if people:
        crate.root_dataset["author"] = _one_or_all(people)
    return people


def _add_runs(crate: Any, dataset: Dataset, results: list[Any], people: list[Any]) -> None:
    """Add an action for each run that wrote rows of the dataset."""
    wrote = set(dataset.accounts()["run"].unique())
    for record in dataset.runs():
        if record["problem"] is not None or record["run"] not in wrote:
            continue
        action = crate.add_action(
            _add_software(crate, f"hpc-harvest {record['harvest']}", record["plugins"]),
            identifier=f"#run-{record['run']}",
            object=_one_or_all([_add_source(crate, s, record) for s in record["sources"]]),
            result=_one_or_all(results),
            properties={
                "@type": "CreateAction",
                "name": f"harvest run {record['run']}",
                "description": "; ".join(
                    f"{line['source']}: " + ", ".join(f"{line[word]:,} {word}" for word in _COUNTS)
                    for line in record["account"]
                ),
                "startTime": _moment(record["started"]),
                "endTime": _moment(record["ended"]),
                "actionStatus": "http://schema.org/CompletedActionStatus",
            },
        )
        crate.root_dataset.append_to("mentions", action)
        user = f"#user-{record['user']}"
        action["agent"] = people[0] if people else _add(crate, user, "Person", name=record["user"])


def _add_software(crate: Any, distribution: str, plugins: Iterable[str] = ()) -> Any:
    """Add a distribution with its version, ``hpc-harvest 1.2``, and its plugins."""
    name, _, version = distribution.rpartition(" ")
    try:
        about: Any = metadata(name)
    except PackageNotFoundError:
        about = {}
    return _add(
        crate,
        f"#software-{name}-{version}",
        "SoftwareApplication",
        name=name,
        description=about.get("Summary"),
        softwareVersion=version,
        license=about.get("License-Expression"),
        softwareRequirements=_one_or_all([_add_software(crate, plugin) for plugin in plugins]),
    )


def _add_source(crate: Any, source: Mapping[str, str], record: Mapping[str, Any]) -> Any:
    """Add a source of a run: its location, plugin and settings."""
    name, location = source["name"], source["location"]
    settings = record["settings"].get(name, {})
    given = "; ".join(f"{key}={value}" for key, value in sorted(settings.items()))
    return _add(
        crate,
        f"#source-{name}-{location}",
        "CreativeWork",
        name=f"{name}:{location}",
        description=f"Input of the source {name} on {record['host']}, read by "
        f"{record['source_plugins'].get(name, 'an unknown plugin')}"
        + (f" with {given}." if given else "."),
    )


def _one_or_all(values: list[Any]) -> Any:
    """Shape a list for RO-Crate: a single value stands alone, an empty list is left out."""
    return values if len(values) > 1 else next(iter(values), None)


def _moment(text: str) -> str:
    """Format a time as the profile requires, in milliseconds."""
    return datetime.fromisoformat(text).isoformat(timespec="milliseconds")

"""Handle differences between a dataset's columns and the record types of a run.

The manifest records version and columns of each record type that was written. Before reading or
writing, a run compares them with the types that its sources declare. One of three policies applies:
the columns *evolve*, stay *frozen*, or any difference *rejects* the run.

With frozen columns, surplus values of a record type go to ``extra``, as text: values of new
columns, and of columns whose type has values that the dataset's type lacks.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import orjson
import pyarrow as pa

from harvest.api.source import Source
from harvest.errors import DatasetError
from harvest.model import RecordType, RecordTypeError, record_type
from harvest.model.types import common_type, declared_types, from_plain, to_plain
from harvest.storage.manifest import Manifest, Schema
from harvest.storage.part import Part

from .plan import Plan


def declared_kinds(sources: Iterable[Source]) -> list[RecordType]:
    """Return the record types that sources declare, without duplicates."""
    classes = [cls for source in sources for cls in source.record_types]
    return list({kind.name: kind for kind in map(record_type, classes)}.values())


def recorded_types(manifest: Manifest, name: str) -> dict[str, pa.DataType] | None:
    """Return the recorded column types of a record type; None if they are not recorded."""
    schema = manifest.schemas.get(name)
    if schema is None:
        return None
    try:
        return {column: from_plain(kind) for column, kind in schema.columns.items()}
    except RecordTypeError as error:
        problem = f"the manifest's columns of {name} cannot be understood: {error}"
        remedy = "use the version of harvest that wrote it"
        raise DatasetError(problem, where=manifest.location, remedy=remedy) from error


def _is_declared(recorded: Schema, kind: RecordType) -> bool:
    """Return whether a dataset has exactly a record type's columns, structs in order too."""
    declared = _schema(kind)
    # comparing dicts would ignore the order
    same = orjson.dumps(recorded.columns) == orjson.dumps(declared.columns)
    return same and recorded.version == declared.version


@attrs.frozen(kw_only=True)
class Drift:
    """Handling of record types whose columns differ from a dataset's columns."""

    policy: str
    kinds: Sequence[RecordType]
    limited: bool = False

    def frozen(self, manifest: Manifest) -> dict[str, dict[str, Any]]:
        """Return the columns that a dataset keeps under ``freeze``, for types that differ."""
        if self.policy != "freeze":
            return {}
        return {
            kind.name: dict(recorded.columns)
            for kind in self.kinds
            if (recorded := manifest.schemas.get(kind.name)) is not None
            and recorded.columns != _schema(kind).columns
        }

    def check(self, plan: Plan, number: int, manifest: Manifest, *, where: str) -> None:
        """Raise DatasetError when the policy does not admit the record types to a dataset."""
        if not any(p.is_for(number) for p in plan.partitions):
            return
        staying = self._staying(plan, number, manifest)
        for kind in self.kinds:
            recorded = recorded_types(manifest, kind.name)
            if recorded is None or _is_declared(manifest.schemas[kind.name], kind):
                continue
            if self.policy == "reject":
                _refuse_different(kind, recorded, manifest.schemas[kind.name].version, where)
            elif self.policy == "evolve" and kind.name in staying:
                _refuse_changed(kind, recorded, where)

    def schemas(
        self, plan: Plan, number: int, manifest: Manifest, written: Iterable[Part]
    ) -> dict[str, Schema]:
        """Return the schemas that the manifest records after parts were written."""
        staying = self._staying(plan, number, manifest)
        now = {name for part in written for name in part.rows}
        schemas = dict(manifest.schemas)
        for kind in self.kinds:
            recorded = schemas.get(kind.name)
            if kind.name not in now:
                continue
            if recorded is None or not (self.policy == "freeze" or _is_declared(recorded, kind)):
                types = recorded_types(manifest, kind.name) if kind.name in staying else None
                schemas[kind.name] = _schema(kind, types)
        return dict(sorted(schemas.items()))

    def _staying(self, plan: Plan, number: int, manifest: Manifest) -> set[str]:
        if self.limited:
            return {name for name, rows in manifest.record_types().items() if rows}
        return plan.staying(number, manifest)


def _refuse_different(
    kind: RecordType, recorded: Mapping[str, pa.DataType], version: int, where: str
) -> None:
    declared = declared_types(kind)
    each = [
        (f"column {n!r} is", recorded.get(n, "absent"), declared.get(n, "absent"))
        for n in [*recorded, *declared]
    ]
    for what, before, now in [*each, ("it has version", version, kind.version)]:
        if before != now:
            raise DatasetError(
                f"{kind.name}: {what} {before} in the dataset and {now} in the installed plugin",
                where=where,
                remedy="nothing was written; --schema-drift evolve or freeze accepts it, or "
                "harvest into a new dataset",
            )


def _refuse_changed(kind: RecordType, recorded: Mapping[str, pa.DataType], where: str) -> None:
    for name, declared in declared_types(kind).items():
        if name in recorded and common_type(recorded[name], declared) is None:
            raise DatasetError(
                f"{kind.name}: column {name!r} is {recorded[name]} in the dataset and {declared} "
                "in the installed plugin, and no type has the values of both",
                where=where,
                remedy="nothing was written; --schema-drift freeze puts the new values into "
                "'extra', --force reads all inputs again, or harvest into a new dataset",
            )


def _schema(kind: RecordType, existing: Mapping[str, pa.DataType] | None = None) -> Schema:
    """Return version and columns of a record type, merged with those of existing rows."""
    types = dict(existing or {})
    for name, declared in declared_types(kind).items():
        types[name] = common_type(types.get(name, declared), declared)
    return Schema(
        version=kind.version, columns={name: to_plain(each) for name, each in types.items()}
    )

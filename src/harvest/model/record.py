"""Record types, declared as attrs classes.

    @record("demo.line", layer="workflow", level="client")
    class Line(Record):
        \"\"\"One line of a demo log.\"\"\"

        time: datetime | None = field(role="time", doc="When the line was written.")
        text: str = field(role="subject", doc="The line, without its end.")

The class is an ordinary attrs class. :func:`record_type` returns the :class:`RecordType` derived
from it: its columns, and from these its Arrow schema, JSON Schema and documentation.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar, dataclass_transform

import attrs

from .column import (
    LAYERS,
    LEVELS,
    ROLES,
    TAIL,
    Column,
    Layer,
    Level,
    RecordTypeError,
    Role,
    without_none,
)

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

UInt64: TypeAlias = Annotated[int, "uint64"]
"""Annotation for a column of ids that do not fit a signed 64-bit integer."""
UInt32: TypeAlias = Annotated[int, "uint32"]
Int32: TypeAlias = Annotated[int, "int32"]

LONGEST_NAME: Final = 100
"""Maximum length of a record type's name, which is also the name of a directory."""

_NAME: Final = re.compile(r"[a-z_][a-z0-9_]*(?:\.[a-z0-9_]+)+")
_ATTRIBUTE: Final = "__harvest_record_type__"


def field(
    *,
    role: Role | None = None,
    unit: str | None = None,
    doc: str = "",
    default: Any = attrs.NOTHING,
) -> Any:
    """Declare one column.

    role: the shared column of the ``events`` view that it maps to, if any.
    unit: the unit of its values as printed in documentation (``s``, ``bytes``, ``bytes/s``).
    doc: one sentence for readers of the schema.
    default: the value if an instance omits it; columns typed ``X | None`` default to None.
    """
    if role is not None and role not in ROLES:
        raise RecordTypeError(f"role {role!r} is not one of {', '.join(ROLES)}")
    return attrs.field(default=default, metadata={"role": role, "unit": unit, "doc": doc})


@dataclass_transform(kw_only_default=True, field_specifiers=(field, attrs.field))
class _Declared:
    """For type checkers: subclasses take their annotated fields as keyword arguments."""

    __slots__ = ()


@attrs.define(kw_only=True)
class Record(_Declared):
    """Base of all record classes: the three columns that end every table."""

    extra: dict[str, str] | None = attrs.field(
        default=None,
        metadata={"doc": "Columns of the input that this record type does not declare."},
    )
    origin: str | None = attrs.field(
        default=None, metadata={"doc": "Absolute path or URI of the input."}
    )
    position: int | None = attrs.field(
        default=None, metadata={"doc": "Line or record number in the input, from 1."}
    )


@attrs.frozen(eq=False)
class RecordType:
    """A named, versioned schema derived from a record class."""

    name: str
    version: int
    layer: Layer
    level: Level
    doc: str
    cls: type[Record]
    columns: tuple[Column, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return (record_type, (self.cls,))

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The Arrow schema, with units, roles and descriptions as field metadata."""
        from .types import schema_of  # late: declaring record types does not need Arrow

        return schema_of(self)

    @property
    def roles(self) -> Mapping[Role, str]:
        """Mapping of roles to column names."""
        return {column.role: column.name for column in self.columns if column.role}

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema (2020-12) of one record as the JSONL sink writes it."""
        from .describe import json_schema  # late: as above

        return json_schema(self)


def _columns(cls: type[Record]) -> tuple[Column, ...]:
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except NameError as error:
        raise RecordTypeError(
            f"{cls.__qualname__}: a column's annotation cannot be resolved ({error}); "
            "import the name at module level, not under TYPE_CHECKING"
        ) from error
    own = [a for a in attrs.fields(cls) if a.name not in TAIL]
    tail = [getattr(attrs.fields(cls), name) for name in TAIL]
    columns = []
    seen_roles: dict[str, str] = {}
    for attribute in [*own, *tail]:
        hint, nullable = without_none(hints[attribute.name])
        role = attribute.metadata.get("role")
        if role and role in seen_roles:
            raise RecordTypeError(
                f"{cls.__qualname__}: columns {seen_roles[role]!r} and {attribute.name!r} "
                f"both have role {role!r}; one column plays each role"
            )
        if role:
            seen_roles[role] = attribute.name
        columns.append(
            Column(
                name=attribute.name,
                python_type=hint,
                # origin and position are always filled by the time a batch reaches a sink
                nullable=nullable and attribute.name not in ("origin", "position"),
                role=role,
                unit=attribute.metadata.get("unit"),
                doc=attribute.metadata.get("doc", ""),
            )
        )
    return tuple(columns)


def record(
    name: str, *, layer: Layer, level: Level, version: int = 1
) -> Callable[[type[T]], type[T]]:
    """Make a subclass of :class:`Record` the record type ``name``.

    Names have two parts, ``family.type`` (``dask.transfer``), in lower case. Increase ``version``
    when a column changes its meaning; new columns alone do not require it.
    """
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise RecordTypeError(
            f"record type name {name!r} must look like 'family.type': ASCII, lower case, at most "
            f"{LONGEST_NAME} characters"
        )
    if layer not in LAYERS:
        raise RecordTypeError(f"{name}: layer {layer!r} is not one of {', '.join(LAYERS)}")
    if level not in LEVELS:
        raise RecordTypeError(f"{name}: level {level!r} is not one of {', '.join(LEVELS)}")

    def decorate(cls: type[T]) -> type[T]:
        if not issubclass(cls, Record):
            raise RecordTypeError(f"{name}: {cls.__qualname__} must subclass harvest.Record")
        made = attrs.define(cls, kw_only=True, field_transformer=_optional_means_none)
        derived = RecordType(
            name=name, version=version, layer=layer, level=level,
            doc=inspect.cleandoc(made.__doc__ or ""), cls=made, columns=_columns(made),
        )  # fmt: skip
        setattr(made, _ATTRIBUTE, derived)
        return typing.cast("type[T]", made)

    return decorate


def _optional_means_none(
    cls: type, attributes: list[attrs.Attribute[Any]]
) -> list[attrs.Attribute[Any]]:
    return [
        a.evolve(default=None) if a.default is attrs.NOTHING and _is_optional(a.type) else a
        for a in attributes
    ]


def _is_optional(annotation: Any) -> bool:
    if isinstance(annotation, str):  # postponed annotations
        return "None" in annotation or "Optional[" in annotation
    return type(None) in typing.get_args(annotation)


def record_type(cls: type[Record] | RecordType) -> RecordType:
    """Return the :class:`RecordType` of a record class; raise RecordTypeError for other classes."""
    if isinstance(cls, RecordType):
        return cls
    derived = cls.__dict__.get(_ATTRIBUTE) if isinstance(cls, type) else None
    if derived is None:
        name = cls.__name__ if isinstance(cls, type) else repr(cls)
        raise RecordTypeError(
            f"{name} is not a record class; decorate a subclass of harvest.Record with "
            "@harvest.record('family.type', ...)"
        )
    return typing.cast("RecordType", derived)

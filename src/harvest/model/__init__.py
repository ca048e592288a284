"""The data model: record types, and what is derived from them.

This package imports nothing else of the project.
"""

from .errors import BatchError, RecordTypeError
from .record import (
    TAIL,
    Column,
    Int32,
    Record,
    RecordType,
    UInt32,
    UInt64,
    field,
    record,
    record_type,
)
from .vocabulary import LAYERS, LEVELS, ROLES, Layer, Level, Role

__all__ = [
    "LAYERS",
    "LEVELS",
    "ROLES",
    "TAIL",
    "BatchError",
    "Column",
    "Int32",
    "Layer",
    "Level",
    "Record",
    "RecordType",
    "RecordTypeError",
    "Role",
    "UInt32",
    "UInt64",
    "field",
    "record",
    "record_type",
]

"""The data model: record types, and the schemas and documentation derived from them."""

from .column import LAYERS, LEVELS, BatchError, RecordTypeError
from .record import Int32, Record, RecordType, UInt32, UInt64, field, record, record_type

__all__ = [
    "LAYERS",
    "LEVELS",
    "BatchError",
    "Int32",
    "Record",
    "RecordType",
    "RecordTypeError",
    "UInt32",
    "UInt64",
    "field",
    "record",
    "record_type",
]

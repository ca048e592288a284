"""What can be wrong with a record type or with a batch that claims to be one."""

from __future__ import annotations


class RecordTypeError(TypeError):
    """A record class is declared in a way that no schema can be derived from."""


class BatchError(ValueError):
    """A batch does not fit the record type that it was yielded for."""

"""Export datasets as research objects: RO-Crate 1.1."""

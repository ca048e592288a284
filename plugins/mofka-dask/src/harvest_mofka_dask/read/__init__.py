"""The readers: one module for each kind of file in a run directory."""

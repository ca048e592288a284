"""The critical path of a run: what its time was spent on, one task after the other."""

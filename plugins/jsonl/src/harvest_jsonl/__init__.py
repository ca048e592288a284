"""The sink ``jsonl``: JSON Lines, as a directory of parts or as one file of events."""

"""Commands that inspect inputs before a run, and datasets after it."""

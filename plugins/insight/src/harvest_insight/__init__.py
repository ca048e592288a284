"""Views across sources: the chain from a job to its files, and the map of what was harvested."""

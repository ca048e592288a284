"""What views of runs are put together from, each of one side of a run."""

"""Parts of views of runs: events of tasks, occupancy of threads, signs of trouble."""

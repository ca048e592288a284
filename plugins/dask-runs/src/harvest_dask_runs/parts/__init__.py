"""Parts of views of runs: occupancy of threads, and signs of trouble."""

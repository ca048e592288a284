"""Helpers of the kit's tests: separate processes, damaged files, odd names, process state."""

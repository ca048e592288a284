"""Content of a capture: process and software, clocks, logs, samples, graphs."""

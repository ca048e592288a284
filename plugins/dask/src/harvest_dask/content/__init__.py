"""What a capture holds: of the process and its software, of clocks, logs, samples, graphs."""

"""Read what the Yappi profiler saves: callgrind text, pstat files, and printed thread tables."""

"""Views of one scan, and of how scans differ."""

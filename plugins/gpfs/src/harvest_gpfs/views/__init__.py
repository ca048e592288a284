"""Views of one scan, and of changes between scans; their functions are imported on first use."""

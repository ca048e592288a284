"""The harvest source ``node-exporter``."""

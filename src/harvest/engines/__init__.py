"""Engines that the core brings along."""

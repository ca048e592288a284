"""The plugin API: sources, sinks, engines, views, settings and hooks."""

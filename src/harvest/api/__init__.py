"""What plugins are written against: sources, sinks, engines, views, settings and hooks."""

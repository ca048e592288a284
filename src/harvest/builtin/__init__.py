"""The views, reports and engines that come with the core, as a plugin like any other."""

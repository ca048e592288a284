"""The work of the commands; :mod:`harvest.cli.commands` has their options."""

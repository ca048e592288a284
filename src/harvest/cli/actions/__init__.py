"""What the commands do; :mod:`harvest.cli.commands` has their options."""

"""What the commands do, one module for each; :mod:`harvest.cli.commands` has their options."""

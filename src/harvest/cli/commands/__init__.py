"""The commands as users see them: arguments, options, help.

What a command does is in the module of the same name in :mod:`harvest.cli.actions`, which is
imported when the command is called: help and completion start without the libraries of the work.
"""

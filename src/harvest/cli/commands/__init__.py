"""The commands as users see them: arguments, options, help."""

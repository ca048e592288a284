"""What makes other programs run a harvest at set times; text is printed, nothing installed."""

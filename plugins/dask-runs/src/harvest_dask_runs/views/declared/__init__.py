"""What each view is called and takes, with what its columns mean directly above it."""

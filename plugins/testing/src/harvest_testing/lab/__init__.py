"""What the kit experiments with: processes, damaged bytes, odd names."""

"""What sacct's fields are called, and what their texts mean."""

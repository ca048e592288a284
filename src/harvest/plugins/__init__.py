"""What plugins are made of: the hooks, and the classes they implement."""

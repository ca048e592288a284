"""What a run is asked to do: its recipe, the sources that this means, the inputs they look at."""

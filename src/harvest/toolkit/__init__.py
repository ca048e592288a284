"""Files, texts, amounts and settings, for harvest and plugins: the lowest layer of the package."""

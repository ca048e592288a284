"""Files, texts, amounts and settings, for harvest and plugins; nothing else stands below them."""

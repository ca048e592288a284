"""The Model Context Protocol, by which language-model clients query datasets."""

"""From the bytes of a dump to rows of text, whatever its layout."""

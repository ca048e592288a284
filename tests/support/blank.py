"""A part of a dataset, of which a test sets what matters to it."""

from harvest.storage.part import Part

BLANK = Part(
    key="0" * 16, stem=f"a-{'0' * 16}-{'0' * 12}", source="paced", partition="a.txt",
    origin="a.txt", fingerprint="f", plugin="harvest-paced 1.0", config="c", files=(), rows={},
    read=0, filtered={}, folded={}, rejected=0, rejects=None, notes=(), run="r",
)  # fmt: skip

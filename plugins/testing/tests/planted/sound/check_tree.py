"""The source planted-tree, and what every source promises."""

from pathlib import Path
from typing import ClassVar

from planted_tree import TreeSource

from harvest_testing import SourceConformance

CARD = (
    "user: zoë\ntime: 2026-03-01T08:00:00.000001+01:00\nnodes: {0}\nmodules: b a b\nqueue: long\n"
)


class TestTree(SourceConformance):
    source = TreeSource
    examples: ClassVar = {"hidden": True, "depth": 0}
    names_matter = True  # a card's name is the job's

    def sample(self, directory: Path) -> Path:
        top = directory / "cards"
        (top / "alpha" / "deep").mkdir(parents=True)
        (top / ".old").mkdir()
        for number, name in enumerate(("relax.job", "alpha/Relax.job", "alpha/deep/hill 3.job")):
            (top / name).write_text(CARD.format(number))
        (top / "broken.job").write_text("user: ada\nnodes: 1\n")
        (top / "alpha" / "odd.job").write_text(CARD.format("many"))
        (top / ".old" / "gone.job").write_text(CARD.format(7))
        return top

"""What a test expects of a rule that finds one thing."""

__all__ = ["once"]


def once(*finding: str) -> list[tuple[str, ...]]:
    """One finding, its severity first, as the tests' ``spoken`` gives it."""
    return [finding]

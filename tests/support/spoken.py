"""What a test expects of a rule that finds one thing."""


def once(*finding: str) -> list[tuple[str, ...]]:
    """One finding, its severity first, as the tests' ``spoken`` gives it."""
    return [finding]

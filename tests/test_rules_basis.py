"""Every rule of the repository says what its verdict rests on, and when it cannot judge."""

import pytest

from harvest.plugins.known import is_ours
from harvest.plugins.registry import manager

RULES = [
    rule
    for _, rule in sorted(manager().rules.items())
    if is_ours(manager().version_of(rule).split()[0])
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_says_what_it_compares_whom_it_judges_and_what_it_lacks(rule):
    assert rule.numerator
    assert rule.judged
    assert rule.unable
    # a share is of something, and what it is of is said
    assert rule.denominator or "share" not in rule.thresholds

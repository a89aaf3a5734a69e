"""Candidates: yes, no or too hard, on a page of images that queries found for a class.

After ImageNet (Russakovsky et al. 2015, section 3.1.3): votes count by the table of their class,
learned in a pilot, and each class has a stated precision (quality/verifying.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from labeling.kinds.base import CANDIDATES, CONTAINS, ChoiceKind
from labeling.kinds.policies import PolicyRule, checked_number
from labeling.sentences import gettext_noop as _

SETTINGS = {
    "precision": PolicyRule(
        0.997, 0.5, 0.9999, "A class is finished once the precision of its labels is at least this."
    ),
    "wanted": PolicyRule(
        500,
        1,
        10_000_000,
        "A class is not finished before this many of its images are labeled yes.",
    ),
    "audited": PolicyRule(
        100,
        0,
        1_000_000,
        "No class is finished before this many yes labels were audited. 0: rely on vote tables.",
    ),
    "budget": PolicyRule(
        0.0, 0, 1e9, "A class is stopped once it has cost this much. 0: no limit."
    ),
}


@dataclass(frozen=True)
class StopRules:
    """When a class is no longer asked about; see SETTINGS."""

    precision: float
    images: int
    audited: int
    budget: float


class Candidates(ChoiceKind):
    name = "candidates"
    picture = "kinds/candidates.svg"
    title = _("Candidate verification")
    asks = CANDIDATES
    release = CONTAINS
    topic_pages = True
    options = (("yes", _("Yes"), "y"), ("no", _("No"), "n"), ("hard", _("Too hard to tell"), "h"))
    abstentions = frozenset({"hard"})
    # A table of ten votes was learned on a pilot with ten votes.
    policy_defaults: ClassVar[Mapping[str, object]] = {
        "method": "vote-table",
        "max_votes": 10,
        "page_size": 30,
    }

    def clean_settings(self, settings: Mapping[str, object]) -> dict[str, object]:
        """Return a number for each key of SETTINGS. Raises Refusal.

        >>> Candidates().clean_settings({"wanted": 50})
        {'precision': 0.997, 'wanted': 50, 'audited': 100, 'budget': 0.0}
        """
        self.refuse_unknown(settings, tuple(SETTINGS))
        return {
            key: checked_number(
                key, settings.get(key, rule.default), rule.low, rule.high, whole=rule.whole
            )
            for key, rule in SETTINGS.items()
        }


def stop_rules(settings: Mapping[str, object]) -> StopRules:
    """Return the stop rules in validated settings."""
    rules = dict(Candidates().clean_settings(settings))
    return StopRules(images=rules.pop("wanted"), **rules)  # type: ignore[arg-type]

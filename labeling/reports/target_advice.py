"""Which target errors a campaign's known answers support, for the page of its rules."""

from dataclasses import dataclass

from labeling.consensus import calibration_store
from labeling.consensus.calibration_store import TargetOutcome
from labeling.estimators.stated_error import answers_for, smallest_target
from labeling.kinds import KINDS, policies
from labeling.models import Campaign

# A target is reachable if at least this share of the questions settles at it.
REACHED = 0.1


@dataclass(frozen=True)
class TargetAdvice:
    """The targets that known answers support.

    known: number of gold and audited images of the last calibration. needed: number that the chosen
    target requires, known ones included; 0 if there are enough. rows: the supported targets at
    which questions settle. proposed: the smallest reachable one.
    """

    known: int
    needed: int
    rows: list[TargetOutcome]
    proposed: TargetOutcome | None


def for_campaign(campaign: Campaign) -> TargetAdvice | None:
    """Return the advice; None for drawings and older policies. Two queries."""
    policy = policies.for_campaign(campaign)
    if not KINDS[campaign.kind].has_words or policy["target_rule"] != "measured":
        return None
    learned = calibration_store.content_of(campaign).error
    known = learned.known if learned else 0
    rows = [
        row
        for row in (learned.targets if learned else ())
        if row.target >= smallest_target(known) and row.share
    ]
    proposed = min(
        (row for row in rows if row.share >= REACHED), key=lambda row: row.target, default=None
    )
    target = policy["target_error"]
    needed = answers_for(target) if target is not None else 0
    return TargetAdvice(known, needed if needed > known else 0, rows, proposed)

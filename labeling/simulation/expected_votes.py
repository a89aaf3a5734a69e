"""The expected votes per question of a policy, before anything is known of the people. Pure."""

from collections import Counter

from labeling.estimators.aggregation import posterior_binary
from labeling.estimators.stated_error import TYPICAL, settled_margins
from labeling.kinds import policies
from labeling.kinds.deciding import clip, gains_of_accuracy
from labeling.kinds.policy_keys import WholePolicy
from labeling.kinds.votes import votes_needed
from labeling.simulation.crowd import Crowd


def expected_votes(policy: WholePolicy) -> float:
    """Return the mean votes per question of a crowd with hard images, in which nobody abstains.

    If the policy fixes the number of votes, return it. Else return the exact mean length of the
    random walk of the log odds, from the expected share of yes to the target, or to a majority that
    no missing vote could change. On images that are not hard, people have the accuracy that the
    policy assumes. The mean of settled questions replaces this forecast later.
    """
    if policies.asks_all(policy):
        return float(policy["votes"])
    crowd = Crowd()
    easy = policy["assumed_accuracy"]
    hard = max(0.0, easy - crowd.right + crowd.hard.right)
    shares = ((easy, 1 - crowd.hard.share), (hard, crowd.hard.share))
    return sum(share * _mean_length(policy, accuracy) for accuracy, share in shares)


def _mean_length(policy: WholePolicy, accuracy: float) -> float:
    """Return the mean votes on questions, of answers with this accuracy."""
    by_majority, prior = policy["method"] == "majority", policy["prior_yes"]
    most = policy["votes"] if by_majority else policy["max_votes"]
    total = 0.0
    for truth, share in ((1, prior), (-1, 1 - prior)):
        # By the lead of yes over no: probability of this lead with the question still undecided.
        walk = {0: share}
        for votes in range(1, most + 1):
            total += sum(walk.values())
            right = accuracy if truth > 0 else 1 - accuracy
            moved: dict[int, float] = {}
            for lead, weight in walk.items():
                moved[lead + 1] = moved.get(lead + 1, 0.0) + weight * right
                moved[lead - 1] = moved.get(lead - 1, 0.0) + weight * (1 - right)
            walk = {
                lead: weight
                for lead, weight in moved.items()
                if (_open(votes, lead, policy) if by_majority else _unsure(votes, lead, policy))
            }
    return total


def _open(votes: int, lead: int, policy: WholePolicy) -> bool:
    able = Counter(yes=(votes + lead) // 2, no=(votes - lead) // 2)
    return votes_needed(able, 0, policy) > 0


def _unsure(votes: int, lead: int, policy: WholePolicy) -> bool:
    target = policy["target_error"]
    assert target is not None, "a policy without a target asks a fixed number"
    gain = gains_of_accuracy(policy["assumed_accuracy"])[1]
    yes = posterior_binary(clip(policy["prior_yes"]), [lead * gain])
    error = min(yes, 1 - yes)
    if policy["target_rule"] == "measured":
        error = float(TYPICAL.error(settled_margins([1 - error], [votes], False), [votes])[0])
    return votes < policy["min_votes"] or error > target

"""The keys of a quality policy, with their types."""

from typing import NotRequired, TypedDict


class WholePolicy(TypedDict):
    """A whole policy: a value for each key of policies.RULES, and the currency of its costs."""

    method: str
    votes: int
    stop_early: str
    max_votes: int
    min_votes: int
    # None: collect `votes` votes.
    target_error: float | None
    target_rule: str
    inner_no_error: float
    prior_yes: float
    assumed_accuracy: float
    calibrate_answers: int
    drop_share: float
    review: str
    undecided: str
    return_hours: int
    agree_iou: float
    gold_iou: float
    lease_minutes: int
    revise_minutes: int
    revise_answers: int
    gold_share: float
    gold_share_firm: float
    gold_fail_people: int
    gold_fail_share: float
    training_questions: int
    training_pass: float
    test_questions: int
    test_pass: float
    test_attempts: int
    good_accuracy: float
    bad_accuracy: float
    reject_good: float
    accept_bad: float
    test_cap: int
    gold_action: str
    speed_share: float
    speed_action: str
    run_length: int
    run_action: str
    chance_agreement: float
    chance_action: str
    signal_answers: int
    page_size: int
    seconds_per_answer: float
    cost_per_hour: float
    currency: str
    # Only in policies of kinds that ask by chains.
    draws: NotRequired[int]
    checks: NotRequired[int]
    second_looks: NotRequired[float]
    most_draws: NotRequired[int]
    most_in_vain: NotRequired[int]
    gold_iou_small: NotRequired[float]

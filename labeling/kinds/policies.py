"""The quality policy of a campaign: keys, defaults and allowed values."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labeling.boxes.rules import LIMITS, BoxRules
from labeling.errors import Refusal
from labeling.kinds import KINDS
from labeling.kinds.base import CHAINS, Kind
from labeling.kinds.policy_keys import WholePolicy
from labeling.kinds.votes import votes_needed

if TYPE_CHECKING:
    from labeling.models import Campaign


@dataclass(frozen=True)
class PolicyRule:
    """A numeric key of a policy with its meaning and range.

    optional: null is allowed, and is the default of new policies; `default` is that of older ones.
    """

    default: float
    low: float
    high: float
    help: str = ""
    optional: bool = False

    @property
    def whole(self) -> bool:
        return isinstance(self.default, int)


@dataclass(frozen=True)
class PolicyChoice:
    """A key of a policy with a few values: {value: meaning}.

    when_absent: the value for older policies without the key, if not the default.
    """

    default: str
    words: dict[str, str]
    help: str = ""
    when_absent: str | None = None


# Action when a check of a person exceeds its threshold.
ACTIONS = {
    "none": "No action",
    "train": "Repeat the training",
    "pause": "Pause the annotator",
    "block": "Block, void all answers",
}
RULES: dict[str, PolicyRule | PolicyChoice] = {
    "method": PolicyChoice(
        "majority",
        {
            "majority": "Majority vote",
            "posterior": "Votes weighted by accuracy",
            "vote-table": "Vote table from a pilot",
        },
        "Weighted votes: answers of more accurate annotators count more. Vote table, for yes/no "
        "questions: a pilot measures how often each combination of votes is right.",
    ),
    "votes": PolicyRule(5, 1, 25, "Annotators who answer each question."),
    "stop_early": PolicyChoice(
        "decided",
        {"decided": "Once the result is certain", "never": "After all votes"},
        "For majority votes. Collect all votes to measure how well annotators agree.",
        when_absent="never",
    ),
    "max_votes": PolicyRule(
        9, 1, 50, "If there is no result after this many votes, “When annotators disagree” applies."
    ),
    "min_votes": PolicyRule(
        2, 1, 25, "Weighted votes and vote tables give no result before this many votes."
    ),
    "target_error": PolicyRule(
        0.005,
        0.0001,
        0.5,
        "Not for majority votes. Votes are collected until at most this share of the labels is "
        "wrong: 0.05 is 1 in 20. Leave empty for a fixed number of votes.",
        optional=True,
    ),
    "target_rule": PolicyChoice(
        "measured",
        {"measured": "Measured error", "model": "Model’s estimate"},
        "Measured error: the upper bound of the error on gold and audited questions. Model’s "
        "estimate: far too optimistic.",
        when_absent="model",
    ),
    "inner_no_error": PolicyRule(
        0.001,
        0.0001,
        0.5,
        "In a question graph, a wrong “no” skips all questions below it. The error is the model’s "
        "estimate.",
    ),
    "prior_yes": PolicyRule(0.5, 0.001, 0.999, "Used until the campaign has answers."),
    "assumed_accuracy": PolicyRule(
        0.8, 0.5, 0.999, "Used until the annotator has answered enough questions."
    ),
    "calibrate_answers": PolicyRule(
        2_000, 50, 1_000_000, "Reputations are also recomputed every night."
    ),
    "drop_share": PolicyRule(
        0.6, 0, 1, "An image is dropped if more than this share of its answers is “too hard”."
    ),
    "review": PolicyChoice(
        "disputed", {"disputed": "Disputed results only", "all": "Every result"}
    ),
    "undecided": PolicyChoice(
        "review",
        {
            "review": "A reviewer decides",
            "drop": "Drop the question",
            "keep": "Finish without label",
        },
        "If finished without a label, releases still include the most probable answer.",
    ),
    "return_hours": PolicyRule(
        48,
        1,
        1000,
        "Time to correct drawings that a reviewer sent back. After that, others may draw them too.",
    ),
    "agree_iou": PolicyRule(
        0.5, 0, 1, "Two drawings of a part agree from this IoU on; below it, more are requested."
    ),
    "gold_iou": PolicyRule(
        0.7, 0.05, 1, "A drawing is correct if its IoU with the known answer is at least this."
    ),
    "lease_minutes": PolicyRule(
        20, 1, 1440, "After this time, an unanswered question goes to another annotator."
    ),
    "revise_minutes": PolicyRule(10, 0, 1440, "Annotators can correct an answer for this long."),
    "revise_answers": PolicyRule(
        20, 0, 1000, "Annotators can correct this many of their latest answers, however old."
    ),
    "gold_share": PolicyRule(0.1, 0, 0.5, "Annotators cannot tell them from other questions."),
    "gold_share_firm": PolicyRule(
        0.03, 0, 0.5, "The share is halved after each passed test on gold, but not below this."
    ),
    "gold_fail_people": PolicyRule(
        5, 2, 1000, "A gold question is retired only after this many trusted annotators saw it."
    ),
    "gold_fail_share": PolicyRule(
        0.5, 0, 1, "A gold question is retired if more than this share of its answers was wrong."
    ),
    "training_questions": PolicyRule(0, 0, 100, "0: no training."),
    "training_pass": PolicyRule(
        0.0,
        0,
        1,
        "Training continues until this share of the latest answers is right. 0: not required.",
    ),
    "test_questions": PolicyRule(0, 0, 100, "They follow the training. 0: no test."),
    "test_pass": PolicyRule(0.8, 0, 1),
    "test_attempts": PolicyRule(2, 1, 10),
    "good_accuracy": PolicyRule(0.9, 0.5, 0.999, "Share of right answers to gold questions."),
    "bad_accuracy": PolicyRule(0.7, 0.01, 0.99, "Share of right answers to gold questions."),
    "reject_good": PolicyRule(0.05, 0.0001, 0.5, "In each test."),
    "accept_bad": PolicyRule(0.05, 0.0001, 0.5, "In each test."),
    "test_cap": PolicyRule(
        80, 5, 1000, "A test without a result by then is decided by the number of right answers."
    ),
    "gold_action": PolicyChoice("pause", ACTIONS),
    "speed_share": PolicyRule(
        0.25,
        0,
        1,
        "Median time per answer, divided by that of other annotators. An annotator below this "
        "value is too fast.",
    ),
    "speed_action": PolicyChoice("none", ACTIONS),
    "run_length": PolicyRule(
        40, 2, 10_000, "Shorter runs, and runs that are likely for these images, are ignored."
    ),
    "run_action": PolicyChoice("none", ACTIONS),
    "chance_agreement": PolicyRule(
        0.1, -1, 1, "Corrected for chance: 0 is random agreement, 1 is full agreement."
    ),
    "chance_action": PolicyChoice("none", ACTIONS),
    "signal_answers": PolicyRule(40, 5, 10_000),
    "page_size": PolicyRule(20, 1, 100),
    "seconds_per_answer": PolicyRule(4.0, 0.1, 3600, "Used to estimate time and cost."),
    "cost_per_hour": PolicyRule(0.0, 0, 10_000, "Used to estimate the cost."),
}
# `asks` of a kind → rules that only policies of such kinds have.
RULES_OF: dict[str, dict[str, PolicyRule]] = {
    CHAINS: {
        "draws": PolicyRule(1, 1, 9),
        "checks": PolicyRule(
            BoxRules.checks,
            *LIMITS["checks"],
            "A box is accepted or rejected once this many annotators agree.",
        ),
        "second_looks": PolicyRule(
            BoxRules.second_looks,
            *LIMITS["second_looks"],
            "Of the images with a single box: a second annotator also looks for missed objects.",
        ),
        "most_draws": PolicyRule(
            BoxRules.most_draws,
            *LIMITS["most_draws"],
            "If all boxes of an object are rejected, a reviewer draws it.",
        ),
        "most_in_vain": PolicyRule(
            BoxRules.most_in_vain,
            *LIMITS["most_in_vain"],
            "Reports of a missed object that nobody can draw. After this many, a reviewer decides.",
        ),
        "gold_iou_small": PolicyRule(0.6, 0.05, 1, "For boxes under 1 % of the image."),
    }
}
_ABSENT: Any = {
    key: (rule.when_absent if isinstance(rule, PolicyChoice) and rule.when_absent else rule.default)
    for key, rule in RULES.items()
} | {"currency": "EUR"}
# Values of keys that a policy lacks.
DEFAULTS: WholePolicy = _ABSENT
# Older policies compare a default target with the model's probability.
OLD_TARGET: dict[str, object] = {key: _ABSENT[key] for key in ("target_error", "target_rule")}
# Defaults of new policies that differ from the meaning of a missing key.
NEW_DEFAULTS: dict[str, float | str | None] = {
    key: rule.default for key, rule in RULES.items() if rule.default != _ABSENT[key]
} | {"target_error": None}


def own_defaults(kind: Kind) -> dict[str, float]:
    """Return the defaults of rules that only kinds like this one have."""
    return {key: rule.default for key, rule in RULES_OF.get(kind.asks, {}).items()}


def for_campaign(campaign: "Campaign") -> WholePolicy:
    """Return the campaign's policy with every key, including later ones."""
    return whole(campaign.policy.content if campaign.policy else {})


def whole(content: Any) -> WholePolicy:
    """Return the policy of these validated keys, completed with defaults."""
    return DEFAULTS | content


def first_votes(policy: WholePolicy) -> int:
    """Return the seats of a new question: the fewest votes with which the method can decide.

    >>> first_votes(DEFAULTS), first_votes(DEFAULTS | NEW_DEFAULTS)
    (5, 3)
    >>> first_votes(DEFAULTS | {"method": "posterior"})
    2
    """
    if policy["method"] == "majority":
        return votes_needed(Counter(), 0, policy)
    return policy["votes"] if policy["target_error"] is None else policy["min_votes"]


def asks_all(policy: WholePolicy) -> bool:
    """Return whether every question gets a fixed number of votes."""
    if policy["method"] == "majority":
        return policy["stop_early"] == "never"
    return policy["target_error"] is None


def clean(content: Mapping[str, object] | None) -> WholePolicy:
    """Return a whole policy: the defaults updated by `content`.

    Raises Refusal with the key, the value and the expectation.
    """
    policy = whole({key: _clean_value(key, value) for key, value in (content or {}).items()})
    is_fixed = policy["method"] == "majority" or policy["target_error"] is None
    least, fewest = ("votes", policy["votes"]) if is_fixed else ("min_votes", policy["min_votes"])
    if policy["max_votes"] < fewest:
        raise Refusal(
            f"max_votes is {policy['max_votes']}, but {least} is {fewest}; max_votes must be at "
            "least as large.",
            field="max_votes",
        )
    if policy["bad_accuracy"] >= policy["good_accuracy"]:
        raise Refusal(
            f"bad_accuracy is {policy['bad_accuracy']} and good_accuracy "
            f"{policy['good_accuracy']}: a good annotator must be right more often.",
            field="bad_accuracy",
        )
    return policy


def clean_new(content: Mapping[str, object] | None, kind: Kind | None = None) -> WholePolicy:
    """Return the whole policy of a new campaign; like clean, with the defaults for new policies."""
    old = {} if kind is None or kind.has_words else OLD_TARGET
    defaults = kind.policy_defaults if kind else {}
    return clean({**NEW_DEFAULTS, **old, **defaults, **(content or {})})


def clean_next(campaign: "Campaign", content: Mapping[str, object]) -> WholePolicy:
    """Return the campaign's next whole policy; like clean.

    The keys in NEW_DEFAULTS keep their values unless content has them.
    """
    current: Mapping[str, object] = for_campaign(campaign)
    kept = {key: current[key] for key in NEW_DEFAULTS}
    return clean({**kept, **own_defaults(KINDS[campaign.kind]), **content})


def check_kind(kind: Kind, policy: WholePolicy) -> None:
    """Raise Refusal if the method cannot judge votes of this kind, or for rules of other kinds."""
    known_keys = {*RULES, "currency", *own_defaults(kind)}
    if foreign := sorted(set(policy) - known_keys):
        raise Refusal(
            f"A policy of the kind {kind.name} has no key {foreign[0]!r}.", field=foreign[0]
        )
    if not kind.has_words and policy["undecided"] == "keep":
        raise Refusal(
            "Drawings cannot be kept undecided. Choose review or drop.", field="undecided"
        )
    known = kind.methods
    if known is not None and policy["method"] not in known:
        raise Refusal(
            f"The method {policy['method']} counts words, and answers of the kind {kind.name} are "
            f"drawings. Choose one of: {', '.join(known)}.",
            field="method",
        )


def _clean_value(key: str, value: object) -> float | str | None:
    if key == "currency":
        if not isinstance(value, str) or not (len(value) == 3 and value.isalpha()):
            raise Refusal(f"currency is {value!r}; give three letters, like EUR.", field=key)
        return value.upper()
    rule = RULES.get(key) or next(
        (kind_rules[key] for kind_rules in RULES_OF.values() if key in kind_rules), None
    )
    if rule is None:
        known = ", ".join(sorted(DEFAULTS))
        raise Refusal(f"A policy has no key {key!r}. It has: {known}.", field=str(key))
    if isinstance(rule, PolicyRule):
        if value is None and rule.optional:
            return None
        return checked_number(key, value, rule.low, rule.high, whole=rule.whole)
    if not isinstance(value, str) or value not in rule.words:
        raise Refusal(f"{key} is {value!r}; give one of: {', '.join(rule.words)}.", field=key)
    return value


def checked_number(key: str, value: object, low: float, high: float, *, whole: bool) -> float:
    """Return the number, an int if it must be whole. Raises Refusal with the key and the bounds."""
    kind = "a whole number" if whole else "a number"
    message = f"{key} is {value!r}; give {kind} from {low:g} to {high:g}."
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refusal(message, field=key)
    # Written so that NaN fails too.
    if not low <= value <= high or (whole and value != int(value)):
        raise Refusal(message, field=key)
    return int(value) if whole else float(value)

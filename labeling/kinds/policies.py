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
from labeling.kinds.votes import votes_wanted

if TYPE_CHECKING:
    from labeling.models import Campaign


@dataclass(frozen=True)
class PolicyRule:
    """A numeric key of a policy with its meaning and range.

    optional: new policies lack it, and null is a value; `default` is that of older policies.
    """

    default: float
    low: float
    high: float
    help: str
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
    help: str
    when_absent: str | None = None


# Action when a check of a person exceeds its threshold.
ACTIONS = {
    "none": "Only show it",
    "train": "Train again",
    "pause": "Pause until a researcher looks",
    "block": "Block, and void their answers",
}
RULES: dict[str, PolicyRule | PolicyChoice] = {
    "method": PolicyChoice(
        "majority",
        {
            "majority": "Majority of a fixed number of votes",
            "posterior": "Votes weighed by each person's reputation, until sure enough",
            "vote-table": "Votes of yes and no by a table learned on a pilot, until sure enough",
        },
        "How answers become a consensus.",
    ),
    "votes": PolicyRule(5, 1, 25, "People per question, by majority or without a target."),
    "stop_early": PolicyChoice(
        "decided",
        {
            "decided": "Once the verdict is certain",
            "never": "Never: all votes, for agreement and skills to be learned from",
        },
        "By majority: when the rest of the votes is not asked for any more.",
        when_absent="never",
    ),
    "max_votes": PolicyRule(9, 1, 50, "At most this many answers; then a reviewer decides."),
    "min_votes": PolicyRule(2, 1, 25, "Without a fixed number of votes: at least this many."),
    "target_error": PolicyRule(
        0.005,
        0.0001,
        0.5,
        "Settle when wrong at most this often: 0.05 is 1 in 20. Not by majority. Empty: every "
        "question gets the votes above.",
        optional=True,
    ),
    "target_rule": PolicyChoice(
        "measured",
        {
            "measured": "Measured error",
            "model": "Model’s probability",
        },
        "What must reach that target: the error measured on gold and audits, at its upper bound; "
        "or the model’s own probability, which is far too sure.",
        when_absent="model",
    ),
    "inner_no_error": PolicyRule(
        0.001,
        0.0001,
        0.5,
        "The model’s probability that a no is wrong where other questions hang on it: a wrong one "
        "costs all their labels.",
    ),
    "prior_yes": PolicyRule(
        0.5, 0.001, 0.999, "Share of yes expected before anything was learned."
    ),
    "assumed_accuracy": PolicyRule(
        0.8, 0.5, 0.999, "How often somebody is right of whom nothing is known yet."
    ),
    "calibrate_answers": PolicyRule(
        2_000, 50, 1_000_000, "Recompute reputations after this many answers, and every night."
    ),
    "drop_share": PolicyRule(
        0.6, 0, 1, "Drop the image when more than this share of its answers could not be given."
    ),
    "review": PolicyChoice(
        "disputed",
        {
            "disputed": "Only what the answers could not decide",
            "all": "Everything, before it counts",
        },
        "What a reviewer looks at.",
    ),
    "undecided": PolicyChoice(
        "review",
        {
            "review": "A reviewer decides",
            "drop": "The question is dropped",
            "keep": "It is finished without a label; the most probable answer is kept",
        },
        "When people do not agree after at most so many answers.",
    ),
    "return_hours": PolicyRule(
        48, 1, 1000, "Hours to mend what a reviewer sent back; then others are asked too."
    ),
    "agree_iou": PolicyRule(
        0.5,
        0,
        1,
        "Drawings of one part agree when they overlap at least so much (IoU); else more are asked.",
    ),
    "gold_iou": PolicyRule(
        0.7, 0.05, 1, "A drawing of gold is right when it overlaps it so much (IoU)."
    ),
    "lease_minutes": PolicyRule(20, 1, 1440, "Minutes a person may hold a question unanswered."),
    "revise_minutes": PolicyRule(10, 0, 1440, "Minutes in which a mind may be changed."),
    "revise_answers": PolicyRule(20, 0, 1000, "Or until this many further answers."),
    "gold_share": PolicyRule(0.1, 0, 0.5, "Share of questions with a known answer, mixed in."),
    "gold_share_firm": PolicyRule(
        0.03, 0, 0.5, "To which that share falls as a person's reputation firms up."
    ),
    "gold_fail_people": PolicyRule(
        5, 2, 1000, "Retire gold after this many trusted people met it …"
    ),
    "gold_fail_share": PolicyRule(0.5, 0, 1, "… and more than this share failed it."),
    "training_questions": PolicyRule(
        0, 0, 100, "Questions with feedback before the first real one; 0 for no training."
    ),
    "training_pass": PolicyRule(
        0.0, 0, 1, "Training goes on until this share of so many latest ones is right; 0: it ends."
    ),
    "test_questions": PolicyRule(0, 0, 100, "Questions of the test that follows; 0 for no test."),
    "test_pass": PolicyRule(0.8, 0, 1, "Share of the test that must be right."),
    "test_attempts": PolicyRule(2, 1, 10, "How often the test may be taken."),
    "good_accuracy": PolicyRule(
        0.9, 0.5, 0.999, "Sequential test on gold: somebody good is right this often …"
    ),
    "bad_accuracy": PolicyRule(0.7, 0.01, 0.99, "… and somebody bad this often."),
    "reject_good": PolicyRule(
        0.05, 0.0001, 0.5, "Chance that somebody good is rejected, in one test."
    ),
    "accept_bad": PolicyRule(
        0.05, 0.0001, 0.5, "Chance that somebody bad is accepted, in one test."
    ),
    "test_cap": PolicyRule(
        80, 5, 1000, "Gold answers after which one test is decided in any case."
    ),
    "gold_action": PolicyChoice("pause", ACTIONS, "When the sequential test rejects a person."),
    "speed_share": PolicyRule(
        0.25, 0, 1, "Too fast: half of the answers take less than this share of what others take."
    ),
    "speed_action": PolicyChoice("none", ACTIONS, "When somebody is too fast."),
    "run_length": PolicyRule(
        40, 2, 10_000, "The same answer this often in a row, against the odds."
    ),
    "run_action": PolicyChoice(
        "none", ACTIONS, "When somebody gives the same answer for too long."
    ),
    "chance_agreement": PolicyRule(
        0.1, -1, 1, "Agreement with others beyond chance that is too little: 0 is chance, 1 always."
    ),
    "chance_action": PolicyChoice("none", ACTIONS, "When somebody agrees no more than by chance."),
    "signal_answers": PolicyRule(
        40, 5, 10_000, "Answers before the last three signals say anything."
    ),
    "page_size": PolicyRule(20, 1, 100, "Questions handed out at once."),
    "seconds_per_answer": PolicyRule(
        4.0, 0.1, 3600, "Expected seconds an answer takes, for the estimate."
    ),
    "cost_per_hour": PolicyRule(0.0, 0, 10_000, "Pay for an hour of answering."),
}
# By what kinds ask: rules that policies of others do not have.
RULES_OF: dict[str, dict[str, PolicyRule]] = {
    CHAINS: {
        "draws": PolicyRule(1, 1, 9, "People who draw each box."),
        "checks": PolicyRule(
            BoxRules.checks,
            *LIMITS["checks"],
            "As many checks must agree, for a box or against it.",
        ),
        "second_looks": PolicyRule(
            BoxRules.second_looks,
            *LIMITS["second_looks"],
            "Share of images with one box where a second person looks for more.",
        ),
        "most_draws": PolicyRule(
            BoxRules.most_draws,
            *LIMITS["most_draws"],
            "Attempts at one object; then a reviewer draws it.",
        ),
        "most_in_vain": PolicyRule(
            BoxRules.most_in_vain,
            *LIMITS["most_in_vain"],
            "Times that one person sees something missing and another cannot draw it.",
        ),
        "gold_iou_small": PolicyRule(
            0.6,
            0.05,
            1,
            "As much overlap makes a box of gold right that is under 1 % of its image.",
        ),
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


def of(campaign: "Campaign") -> WholePolicy:
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
        return votes_wanted(Counter(), 0, policy)
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
            f"max_votes is {policy['max_votes']} but {least} is {fewest}: "
            "give max_votes at least as many.",
            field="max_votes",
        )
    if policy["bad_accuracy"] >= policy["good_accuracy"]:
        raise Refusal(
            f"bad_accuracy is {policy['bad_accuracy']} and good_accuracy "
            f"{policy['good_accuracy']}: somebody good must be right more often.",
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

    Keys that only new policies have keep their values unless content has them.
    """
    current: Mapping[str, object] = of(campaign)
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

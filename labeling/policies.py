"""The quality policy of a campaign: its keys, their defaults, and what values they take."""

from dataclasses import dataclass
from typing import Any

from labeling.errors import Refusal
from labeling.models import Campaign


@dataclass(frozen=True)
class Rule:
    """What one key of a policy means and which values it takes."""

    default: Any
    low: float
    high: float
    help: str
    whole: bool = True


RULES: dict[str, Rule] = {
    "votes": Rule(5, 1, 25, "People who answer each question."),
    "max_votes": Rule(9, 1, 50, "After ties, at most this many; then a reviewer decides."),
    "drop_share": Rule(
        0.6,
        0,
        1,
        "Drop the image when more than this share of its answers could not be given.",
        whole=False,
    ),
    "lease_minutes": Rule(20, 1, 1440, "Minutes a person may hold a question unanswered."),
    "revise_minutes": Rule(10, 0, 1440, "Minutes in which a mind may be changed."),
    "revise_answers": Rule(20, 0, 1000, "Or until this many further answers."),
    "gold_share": Rule(
        0.1, 0, 0.5, "Share of questions with a known answer, mixed in.", whole=False
    ),
    "page_size": Rule(20, 1, 100, "Questions handed out at once."),
    "seconds_per_answer": Rule(
        4.0, 0.1, 3600, "Expected seconds an answer takes, for the estimate.", whole=False
    ),
    "cost_per_hour": Rule(0.0, 0, 10_000, "Pay for an hour of answering.", whole=False),
}
DEFAULTS: dict[str, Any] = {key: rule.default for key, rule in RULES.items()} | {"currency": "EUR"}


def of(campaign: Campaign) -> dict[str, Any]:
    """The campaign's policy with every key, also those that came after it was written."""
    return DEFAULTS | (campaign.policy.content if campaign.policy else {})


def clean(content: dict[str, Any] | None) -> dict[str, Any]:
    """A whole policy: the defaults with `content` laid over them.

    Raises Refusal naming the key, what came and what is expected.
    """
    policy = dict(DEFAULTS)
    for key, value in (content or {}).items():
        if key == "currency":
            policy[key] = _clean_currency(value)
        elif key in RULES:
            policy[key] = _clean_number(key, value)
        else:
            known = ", ".join(sorted(DEFAULTS))
            raise Refusal(f"A policy has no key {key!r}. It has: {known}.", field=str(key))
    if policy["max_votes"] < policy["votes"]:
        raise Refusal(
            f"max_votes is {policy['max_votes']} but votes is {policy['votes']}: "
            "give max_votes at least as many.",
            field="max_votes",
        )
    return policy


def _clean_currency(value: Any) -> str:
    if not isinstance(value, str) or not (len(value) == 3 and value.isalpha()):
        raise Refusal(f"currency is {value!r}; give three letters, like EUR.", field="currency")
    return value.upper()


def _clean_number(key: str, value: Any) -> int | float:
    rule = RULES[key]
    kind = "a whole number" if rule.whole else "a number"
    wanted = f"{key} is {value!r}; give {kind} from {rule.low:g} to {rule.high:g}."
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refusal(wanted, field=key)
    # Written so that NaN fails too.
    if not rule.low <= value <= rule.high or (rule.whole and value != int(value)):
        raise Refusal(wanted, field=key)
    return int(value) if rule.whole else float(value)

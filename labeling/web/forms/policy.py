"""The form of a quality policy: a field for each rule, in groups."""

from typing import Any, NamedTuple

from django import forms

from labeling.errors import Refusal
from labeling.kinds import KINDS, policies
from labeling.kinds.base import CHAINS, OBJECTS
from labeling.web.forms.common import WordedForm, add_refusal

LABELS = {
    "method": "How answers become a consensus",
    "votes": "People per question",
    "stop_early": "Stop asking",
    "min_votes": "At least this many",
    "max_votes": "At most this many",
    "target_error": "Settle when wrong at most",
    "target_rule": "… by",
    "inner_no_error": "By the model, a no that closes others is wrong at most",
    "prior_yes": "Expected share of yes",
    "assumed_accuracy": "A newcomer is right",
    "calibrate_answers": "Learn again after",
    "drop_share": "Drop an image above",
    "gold_share": "Share of gold",
    "gold_share_firm": "… for those who have proven themselves",
    "gold_fail_people": "Retire gold after this many people",
    "gold_fail_share": "… of whom more than this share failed",
    "training_questions": "Questions in training",
    "training_pass": "Train until this share is right",
    "test_questions": "Questions in the test",
    "test_pass": "Passed with this share right",
    "test_attempts": "Attempts",
    "good_accuracy": "Somebody good is right",
    "bad_accuracy": "Somebody bad is right",
    "reject_good": "Chance to reject somebody good",
    "accept_bad": "Chance to accept somebody bad",
    "test_cap": "Decide after this many at most",
    "gold_action": "When gold says somebody is bad",
    "speed_share": "Too fast: share of others’ time",
    "speed_action": "When somebody is too fast",
    "run_length": "The same answer in a row",
    "run_action": "When a run is too long",
    "chance_agreement": "Too little agreement beyond chance",
    "chance_action": "When agreement is too little",
    "signal_answers": "Answers before these three count",
    "review": "What a reviewer looks at",
    "undecided": "When people do not agree",
    "return_hours": "Hours to mend what was sent back",
    "agree_iou": "Drawings agree from this overlap",
    "gold_iou": "A drawing of gold is right from this overlap",
    "gold_iou_small": "… and a small one from this overlap",
    "draws": "People who draw each box",
    "checks": "Checks that must agree",
    "second_looks": "Share looked at twice for more",
    "most_draws": "Attempts at one object",
    "most_in_vain": "Times that nobody finds what is missing",
    "lease_minutes": "Minutes to answer",
    "revise_minutes": "Minutes to change one’s mind",
    "revise_answers": "… or further answers",
    "page_size": "Questions handed out at once",
    "seconds_per_answer": "Seconds per answer",
    "cost_per_hour": "Pay per hour",
    "currency": "Currency",
}

# Rules for counting answers, which box campaigns replace.
VOTE_KEYS = (
    "method",
    "votes",
    "stop_early",
    "min_votes",
    "max_votes",
    "target_error",
    "target_rule",
    "inner_no_error",
    "prior_yes",
    "assumed_accuracy",
    "drop_share",
)


class Group(NamedTuple):
    """Rules under one heading."""

    title: str
    words: str
    keys: tuple[str, ...]
    # `asks` of the only kinds with these rules; "" for all.
    asks: str = ""


class ShownGroup(NamedTuple):
    """A group with its fields. faulty: one of them has errors. kinds: names of the only kinds with
    these rules.
    """

    title: str
    words: str
    fields: list[forms.BoundField]
    faulty: bool
    kinds: str


GROUPS = (
    Group(
        "Consensus",
        "How many people answer a question, and when their answers are enough. By majority it is "
        "a fixed number, or fewer once the rest could change nothing; with a target, one answer at "
        "a time is asked for until the question is sure.",
        VOTE_KEYS,
    ),
    Group(
        "Review and drawings",
        "What a reviewer decides, and when drawings of the same part agree: by IoU, the share of "
        "their union that both cover.",
        ("review", "undecided", "return_hours", "agree_iou", "gold_iou"),
    ),
    Group(
        "Boxes: draw, check, look for more",
        "Somebody draws a box, others check it, and somebody looks for what has none yet; what "
        "goes round in circles ends at a reviewer.",
        tuple(policies.RULES_OF[CHAINS]),
        CHAINS,
    ),
    Group(
        "Learning",
        "How people answer, and whether proposed boxes pay, is learned from what was settled.",
        ("calibrate_answers",),
    ),
    Group(
        "Gold",
        "Questions whose answer is known, mixed in unseen: they tell how often a person is right.",
        ("gold_share", "gold_share_firm", "gold_fail_people", "gold_fail_share"),
    ),
    Group(
        "Training and test",
        "What a newcomer does before the first real question. Both are made of gold; in training "
        "the right answer and its explanation follow at once.",
        ("training_questions", "training_pass", "test_questions", "test_pass", "test_attempts"),
    ),
    Group(
        "Standing: the test on gold",
        "Every answer to gold speaks for “good” or “bad”. When the scale tips to bad, the action "
        "follows; when it tips to good, the test begins again, so that it notices a change.",
        ("good_accuracy", "bad_accuracy", "reject_good", "accept_bad", "test_cap", "gold_action"),
    ),
    Group(
        "Standing: three more signals",
        "Answers too fast, the same answer over and over, and agreement with others no better than "
        "chance. Each is shown on a person’s page, and does what you choose here.",
        (
            "signal_answers",
            "speed_share",
            "speed_action",
            "run_length",
            "run_action",
            "chance_agreement",
            "chance_action",
        ),
    ),
    Group(
        "Time and money",
        "How long a question is held for a person, and what the estimates reckon with.",
        (
            "page_size",
            "lease_minutes",
            "revise_minutes",
            "revise_answers",
            "seconds_per_answer",
            "cost_per_hour",
            "currency",
        ),
    ),
)
# Rules that affect the cost; most campaigns keep the other defaults.
VOTE_COST_KEYS = ("method", "votes", "stop_early")
COST_KEYS = ("seconds_per_answer", "cost_per_hour", "currency", "gold_share")


def _is_for(group: Group, asks: str) -> bool:
    """Return whether the rules apply to kinds with this `asks`."""
    if group.asks:
        return group.asks == asks
    return asks != CHAINS or group.keys != VOTE_KEYS


def _bound(value: float) -> str:
    """Return a bound as text.

    >>> _bound(0.0001), _bound(1_000_000)
    ('0.0001', '1,000,000')
    """
    return f"{value:,.0f}" if value >= 1_000 else f"{value:g}"


def rule_field(
    key: str,
    rule: policies.PolicyRule | policies.PolicyChoice,
    *,
    label: str = "",
    required: bool = True,
) -> forms.Field:
    label = label or LABELS.get(key) or key.replace("_", " ").capitalize()
    if isinstance(rule, policies.PolicyChoice):
        return forms.ChoiceField(
            label=label,
            initial=rule.default,
            choices=list(rule.words.items()),
            help_text=rule.help,
        )
    field = forms.IntegerField if rule.whole else forms.FloatField
    return field(
        label=label,
        required=required and not rule.optional,
        initial=None if rule.optional else rule.default,
        min_value=int(rule.low) if rule.whole else rule.low,  # type: ignore[arg-type]
        max_value=int(rule.high) if rule.whole else rule.high,  # type: ignore[arg-type]
        help_text=f"{rule.help} {_bound(rule.low)} to {_bound(rule.high)}.",
        widget=forms.NumberInput(attrs={"step": "1" if rule.whole else "any"}),
    )


class PolicyForm(WordedForm):
    """The quality policy, with a field for each rule.

    asks: of the campaign's kind, which may have further rules; None shows every rule, while the
    kind is still to be chosen. has_target: whether a target error is offered.
    """

    def __init__(
        self, *args: Any, asks: str | None = None, has_target: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.asks = asks
        for key, rule in policies.RULES.items():
            is_asked = asks != CHAINS or key not in VOTE_KEYS
            if is_asked and (has_target or key not in policies.OLD_TARGET):
                self.fields[key] = rule_field(key, rule)
        for kind, rules in policies.RULES_OF.items():
            if asks in (None, kind):
                for key, rule in rules.items():
                    self.fields[key] = rule_field(key, rule)
                    # Fields of other kinds may be missing.
                    self.fields[key].required = False
        self.fields["currency"] = forms.CharField(
            label=LABELS["currency"],
            initial=policies.DEFAULTS["currency"],
            max_length=3,
            help_text="Three letters, like EUR.",
        )

    def groups(self, without: tuple[str, ...] = ()) -> list[ShownGroup]:
        """Return the rules by group, except those in `without`."""
        groups = []
        for group in GROUPS:
            fields = [self[key] for key in group.keys if key in self.fields and key not in without]
            faulty = self.is_bound and any(field.errors for field in fields)
            kinds = [kind.name for kind in KINDS.values() if _is_for(group, kind.asks)]
            if fields:
                groups.append(ShownGroup(group.title, group.words, fields, faulty, " ".join(kinds)))
        return groups

    def vote_fields(self) -> list[forms.BoundField]:
        """Return the fields that set the number of answers per question."""
        return [self[key] for key in VOTE_COST_KEYS]

    def cost_fields(self) -> list[forms.BoundField]:
        """Return the other fields that affect the cost."""
        return [self[key] for key in COST_KEYS]

    def fine_groups(self) -> list[ShownGroup]:
        """Return the groups of rules that do not affect the cost."""
        return self.groups((*VOTE_COST_KEYS, *COST_KEYS))

    def fine_faults(self) -> bool:
        """Return whether one of those has errors, so that they must be visible."""
        return any(group.faulty for group in self.fine_groups())

    def policy(self) -> policies.WholePolicy:
        """Return the policy of the valid fields, with defaults for the others."""
        try:
            return policies.clean(self._understood())
        except Refusal:
            return policies.clean_new(None)

    def clean(self) -> None:
        super().clean()
        try:
            policies.clean(self._understood())
        except Refusal as refusal:
            add_refusal(self, refusal)

    def kind_asks(self) -> str:
        """Return the `asks` of the campaign's kind."""
        return self.asks or ""

    def _understood(self) -> dict[str, object]:
        content: dict[str, object] = {
            key: self.cleaned_data[key]
            for key in (*policies.DEFAULTS, *policies.RULES_OF.get(self.kind_asks(), ()))
            if self.cleaned_data.get(key) not in (None, "")
        }
        if self.kind_asks() in (CHAINS, OBJECTS):
            return content
        return {"target_error": None, "target_rule": "measured", **content}

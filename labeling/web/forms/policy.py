"""The form of a quality policy: a field for each rule, in groups."""

from typing import Any, NamedTuple

from django import forms

from labeling.errors import Refusal
from labeling.kinds import KINDS, policies
from labeling.kinds.base import CHAINS, OBJECTS
from labeling.web.forms.common import WordedForm, add_refusal

LABELS = {
    "method": "How votes are combined",
    "votes": "Votes per question",
    "stop_early": "Stop collecting votes",
    "min_votes": "Minimum votes",
    "max_votes": "Maximum votes",
    "target_error": "Target error",
    "target_rule": "Error to compare with the target",
    "inner_no_error": "Maximum error of a “no” that skips questions",
    "prior_yes": "Expected share of “yes” answers",
    "assumed_accuracy": "Assumed accuracy of new annotators",
    "calibrate_answers": "Answers until reputations are recomputed",
    "drop_share": "Maximum share of “too hard”",
    "gold_share": "Share of gold questions",
    "gold_share_firm": "Minimum share of gold questions",
    "gold_fail_people": "Annotators before gold is retired",
    "gold_fail_share": "Share of wrong answers that retires gold",
    "training_questions": "Questions in training",
    "training_pass": "Share of right answers to end training",
    "test_questions": "Questions in the test",
    "test_pass": "Share of right answers to pass the test",
    "test_attempts": "Maximum attempts at the test",
    "good_accuracy": "Accuracy of a good annotator",
    "bad_accuracy": "Accuracy of a bad annotator",
    "reject_good": "Risk of rejecting a good annotator",
    "accept_bad": "Risk of accepting a bad annotator",
    "test_cap": "Maximum gold questions in a test",
    "gold_action": "If an annotator is rejected",
    "speed_share": "Minimum time relative to others",
    "speed_action": "If an annotator is too fast",
    "run_length": "Maximum run of one answer",
    "run_action": "If a run of one answer is too long",
    "chance_agreement": "Minimum agreement with others",
    "chance_action": "If agreement is too low",
    "signal_answers": "Answers before these checks start",
    "review": "Results that reviewers check",
    "undecided": "When annotators disagree",
    "return_hours": "Hours to correct returned work",
    "agree_iou": "Minimum IoU to agree",
    "gold_iou": "Minimum IoU with gold",
    "gold_iou_small": "Minimum IoU with small gold boxes",
    "draws": "Annotators who draw each box",
    "checks": "Checks per box",
    "second_looks": "Share of images searched twice",
    "most_draws": "Maximum boxes drawn per object",
    "most_in_vain": "Maximum unconfirmed reports",
    "lease_minutes": "Minutes to answer",
    "revise_minutes": "Minutes to correct an answer",
    "revise_answers": "Latest answers that can be corrected",
    "page_size": "Questions handed out at once",
    "seconds_per_answer": "Seconds per answer",
    "cost_per_hour": "Pay per hour",
    "currency": "Currency",
}

# Rules for counting answers. Box campaigns have other rules instead.
VOTE_KEYS = (
    "method",
    "votes",
    "stop_early",
    "min_votes",
    "max_votes",
    "target_error",
    "target_rule",
)
RARE_VOTE_KEYS = ("inner_no_error", "prior_yes", "assumed_accuracy", "drop_share")


class Group(NamedTuple):
    """Rules under one heading. rare: those that most campaigns leave as they are."""

    title: str
    words: str
    keys: tuple[str, ...]
    rare: tuple[str, ...] = ()
    # The rules apply only to kinds with this `asks`; "" for all kinds.
    asks: str = ""


class ShownGroup(NamedTuple):
    """A group with its fields. faulty, rare_faulty: whether a field has an error. kinds: names of
    the kinds that have these rules.
    """

    title: str
    words: str
    fields: list[forms.BoundField]
    rare: list[forms.BoundField]
    faulty: bool
    rare_faulty: bool
    kinds: str


GROUPS = (
    Group(
        "Votes",
        "How many annotators answer a question, and how their votes become its label. A question "
        "is settled when its label is final.",
        VOTE_KEYS,
        RARE_VOTE_KEYS,
    ),
    Group(
        "Review and drawings",
        "Which results a reviewer checks, and how much drawings must overlap. IoU is the area that "
        "two drawings share, divided by the area that they cover together.",
        ("review", "undecided", "agree_iou", "gold_iou"),
        ("return_hours",),
    ),
    Group(
        "Boxes",
        "An annotator draws a box, others check it, and another looks for missed objects. If they "
        "reach no result, a reviewer decides.",
        ("draws", "checks"),
        ("second_looks", "most_draws", "most_in_vain", "gold_iou_small"),
        CHAINS,
    ),
    Group(
        "Gold questions",
        "Gold questions have known answers and look like all others. With them, the reputation of "
        "each annotator is computed: how often the person is right.",
        ("gold_share",),
        ("gold_share_firm", "gold_fail_people", "gold_fail_share", "calibrate_answers"),
    ),
    Group(
        "Training and test",
        "What new annotators do before their first real question. Both consist of gold questions. "
        "In training, the right answer is shown after each question.",
        ("training_questions", "training_pass", "test_questions", "test_pass", "test_attempts"),
    ),
    Group(
        "Continuous test on gold questions",
        "A statistical test runs while annotators work. Each answer to a gold question is evidence "
        "for a good or a bad annotator. Once the evidence suffices, the annotator is accepted or "
        "rejected, and the next test begins.",
        ("gold_action",),
        ("good_accuracy", "bad_accuracy", "reject_good", "accept_bad", "test_cap"),
    ),
    Group(
        "Signs of careless work",
        "Fast answers, long runs of the same answer, and random agreement with others. The page of "
        "each annotator shows these signs. Choose whether they also lead to an action.",
        ("speed_action", "run_action", "chance_action"),
        ("signal_answers", "speed_share", "run_length", "chance_agreement"),
    ),
    Group(
        "Time and cost",
        "How long annotators may take, and the numbers for the estimates of time and cost.",
        ("page_size", "lease_minutes", "seconds_per_answer", "cost_per_hour", "currency"),
        ("revise_minutes", "revise_answers"),
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
            label=label, initial=rule.default, choices=list(rule.words.items()), help_text=rule.help
        )
    field = forms.IntegerField if rule.whole else forms.FloatField
    return field(
        label=label,
        required=required and not rule.optional,
        initial=None if rule.optional else rule.default,
        min_value=int(rule.low) if rule.whole else rule.low,  # type: ignore[arg-type]
        max_value=int(rule.high) if rule.whole else rule.high,  # type: ignore[arg-type]
        help_text=f"{rule.help} Range: {_bound(rule.low)} to {_bound(rule.high)}.".lstrip(),
        widget=forms.NumberInput(attrs={"step": "1" if rule.whole else "any"}),
    )


class PolicyForm(WordedForm):
    """The quality policy, with a field for each rule.

    asks: the kind's `asks`, which may add rules; None shows the rules of all kinds, before a kind
    is chosen. has_target: whether a target error is offered.
    """

    def __init__(
        self, *args: Any, asks: str | None = None, has_target: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.asks = asks
        for key, rule in policies.RULES.items():
            is_asked = asks != CHAINS or key not in VOTE_KEYS + RARE_VOTE_KEYS
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
            fields, rare = (
                [self[key] for key in keys if key in self.fields and key not in without]
                for keys in (group.keys, group.rare)
            )
            kinds = " ".join(kind.name for kind in KINDS.values() if _is_for(group, kind.asks))
            if fields or rare:
                faulty, rare_faulty = (
                    self.is_bound and any(field.errors for field in each) for each in (fields, rare)
                )
                groups.append(
                    ShownGroup(group.title, group.words, fields, rare, faulty, rare_faulty, kinds)
                )
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

    def has_fine_faults(self) -> bool:
        """Return whether one of these groups has errors, so that all must be visible."""
        return any(group.faulty or group.rare_faulty for group in self.fine_groups())

    def policy(self) -> policies.WholePolicy:
        """Return the policy of the valid fields, with defaults for the others."""
        try:
            return policies.clean(self._policy_content())
        except Refusal:
            return policies.clean_new(None)

    def clean(self) -> None:
        super().clean()
        try:
            policies.clean(self._policy_content())
        except Refusal as refusal:
            add_refusal(self, refusal)

    def kind_asks(self) -> str:
        """Return the `asks` of the campaign's kind."""
        return self.asks or ""

    def _policy_content(self) -> dict[str, object]:
        content: dict[str, object] = {
            key: self.cleaned_data[key]
            for key in (*policies.DEFAULTS, *policies.RULES_OF.get(self.kind_asks(), ()))
            if self.cleaned_data.get(key) not in (None, "")
        }
        if self.kind_asks() in (CHAINS, OBJECTS):
            return content
        return {"target_error": None, "target_rule": "measured", **content}

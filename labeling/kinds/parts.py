"""Parts of an object: polygons for each part, or that it is not visible.

The topic of a question is the object's category, its item the object. The settings contain the
campaign's vocabulary, so that answers are validated without the database. An answer holds only what
the person said, in the order of the parts' keys:

    {"parts": {"tail": {"state": "drawn", "polygons": […]}, "horn": {"state": "occluded"}},
     "half": true, "outline": null}        or        {"skip": "too_small"}

docs/explanation/part-campaigns.md describes how answers are compared and combined.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from labeling.errors import Refusal, TooLarge
from labeling.geometry import polygons, regions
from labeling.geometry.polygons import PolygonLists
from labeling.kinds.base import OBJECTS, DrawingContext, DrawnKind
from labeling.kinds.policy_keys import WholePolicy
from labeling.kinds.votes import Verdict, choice_rows, exact_share
from labeling.parts import joining
from labeling.parts.joining import DrawnParts, PartAnswer, ProposalUse, is_assisted, labels_in
from labeling.sentences import gettext
from labeling.sentences import gettext_noop as _

STATES = ("drawn", "not_visible", "occluded")
# Reasons for skipping an object: (value, label, key), in the order of the page.
SKIPS = (
    ("too_small", _("Too small or blurry"), "1"),
    ("no_part", _("No listed part is visible"), "2"),
    ("under_half", _("Fewer than half of the missing parts can be drawn"), "3"),
)
# The only word that votes count for.
WORD = "drawn"
FLAGS = {"ask_half": True, "ask_outline": False}
# Limit of all parts together; each has a limit of its own.
MAX_CORNERS = 60_000
# Pseudo-drawings per person, with the assumed accuracy of newcomers.
ASSUMED_DRAWINGS = 3.0
# IoU of a drawing with its proposal. From the first on, it counts as unchanged: neighbours may have
# moved shared corners. Below the second, it counts as drawn anew.
SAME_DRAWING, ANOTHER_DRAWING = 0.99, 0.2
MAX_EDITS = 100_000
DIGITS = 6


class AskedPart(TypedDict):
    """A part in the settings; see vocabulary.types.PartName."""

    key: str
    name: str
    several: bool
    holes: bool
    guidance: str
    mirror: str
    holds: list[str]


class AskedCategory(TypedDict):
    name: str
    guidance: str
    parts: list[AskedPart]


class Skipped(TypedDict):
    """The answer of a person who draws nothing of the object."""

    skip: str


class DrawingSkill(TypedDict):
    """A person's drawing skill in a calibration."""

    accuracy: float
    answers: int
    gold: int


class Parts(DrawnKind):
    name = "parts"
    picture = "kinds/parts.svg"
    title = _("Part polygons")
    asks = OBJECTS
    release = OBJECTS
    abstentions = frozenset(word for word, _, _ in SKIPS)
    methods = ("majority", "posterior")
    longest_work_ms = 30 * 60 * 1000
    # From the vocabulary; part_campaigns.adopt changes them.
    kept_settings = ("categories",)
    # Drawing takes minutes, and a reviewer checks everything.
    policy_defaults = {
        "votes": 1,
        "max_votes": 3,
        "stop_early": "never",
        "page_size": 2,
        "lease_minutes": 120,
        "seconds_per_answer": 180.0,
        "review": "all",
    }

    def clean_settings(self, settings: Mapping[str, object]) -> dict[str, object]:
        """Return {"categories": {wnid: {"name", "guidance", "parts": […]}}, "ask_half",
        "ask_outline"}.

        part_campaigns.py writes the categories from a vocabulary. Raises Refusal.
        """
        self.refuse_unknown(set(settings) - {"categories"}, tuple(FLAGS))
        cleaned: dict[str, object] = {"categories": settings.get("categories")}
        if not cleaned["categories"]:
            raise Refusal(
                "A campaign of the kind parts needs the categories of a vocabulary.",
                field="settings",
            )
        for key, default in FLAGS.items():
            value = settings.get(key, default)
            if not isinstance(value, bool):
                raise Refusal(f"{key} is {value!r}; give true or false.", field=key)
            cleaned[key] = value
        return cleaned

    def choices(self, settings: Mapping[str, Any]) -> list[dict[str, str]]:
        """Return value, label and key of each reason to skip an object."""
        return choice_rows(SKIPS)

    def words(self, settings: Mapping[str, Any]) -> dict[str, str]:
        return super().words(settings) | {WORD: gettext("Drawn")}

    def clean(
        self, value: object, settings: Mapping[str, Any], context: DrawingContext | None = None
    ) -> Skipped | DrawnParts:
        """Return the validated answer; idempotent. Raises Refusal, which names the part."""
        assert context is not None
        if not isinstance(value, dict):
            raise _refusal("An answer is an object with parts, or with why it is skipped.")
        if "skip" in value:
            return _clean_skip(value)
        if unknown := sorted(str(key) for key in set(value) - {"parts", "half", "outline"}):
            raise _refusal(f"An answer has no {unknown[0]!r}; it has parts, half and outline.")
        parts = value.get("parts")
        category: AskedCategory | None = settings["categories"].get(context.topic)
        if category is None:
            raise _refusal(f"The campaign's vocabulary has no category {context.topic!r}.")
        if not isinstance(parts, dict):
            raise _refusal("The parts of an answer must be an object: part key → state or drawing.")
        cleaned: DrawnParts = {
            "parts": _clean_parts(parts, category, context),
            "half": _clean_half(value.get("half")),
            "outline": _clean_outline(value.get("outline"), settings, context),
        }
        _check_size(cleaned)
        return cleaned

    def grade(self, value: Any, gold: Any) -> float:
        """Return how right the answer is, in [0, 1]: the mean IoU with the drawn parts of gold.

        A state, and skipping the object, is right or wrong.
        """
        if "skip" in gold or "skip" in value:
            return float("skip" in gold and "skip" in value)
        scores = self.likeness(value, gold)
        return sum(scores.values()) / len(scores) if scores else float(not labels_in(value))

    def likeness(self, value: Any, gold: Any) -> dict[str, float]:
        """Return how right each of gold's parts is, by key; see parts/joining.py."""
        drawn_labels = labels_in(value)
        return {
            key: joining.likeness(drawn_labels.get(key), known)
            for key, known in labels_in(gold).items()
        }

    def is_right(self, value: Any, gold: Any, policy: WholePolicy) -> bool:
        """Return whether its grade reaches the policy's gold_iou."""
        # Tolerance for sums that are not exact in binary.
        return self.grade(value, gold) >= policy["gold_iou"] - 1e-9

    def classes(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the only word that votes count for."""
        return (WORD,)

    def tally_name(self, value: Any) -> str:
        """Return the word under which exports count this answer: "drawn", or the reason for
        skipping.
        """
        return str(value.get("skip", WORD)) if isinstance(value, dict) else str(value)

    def settle(self, values: Sequence[Any], policy: WholePolicy) -> Verdict:
        """Settle like settle_weighted, with equal weights."""
        return self.settle_weighted(values, [1.0] * len(values), policy)

    def settle_weighted(
        self, values: Sequence[Any], weights: Sequence[float], policy: WholePolicy
    ) -> Verdict:
        """Return the joined drawing (joining.joined), once all people agree on each part.

        More skips than policy["drop_share"] drop the object. If two drawings of a part have an IoU
        below policy["agree_iou"], or nobody drew without the model, one more person is asked, up to
        policy["max_votes"]; then a reviewer, with the joined drawing as a proposal. There is no
        probability: overlap is none. The order of the votes does not matter.
        """
        least_votes = policy["votes"] if policy["method"] == "majority" else policy["min_votes"]
        if len(values) < least_votes:
            return Verdict("open", more=least_votes - len(values))
        pairs = zip(values, weights, strict=True)
        drawings = [(value, weight) for value, weight in pairs if self.vote(value)]
        if len(values) - len(drawings) > exact_share(policy["drop_share"]) * len(values):
            return Verdict("dropped", value="dropped")
        proposal = None
        if drawings:
            proposal = joining.joined(
                [value for value, _ in drawings], [weight for _, weight in drawings]
            )
            alone = all(is_assisted(value) for value, _ in drawings)
            if joining.least_agreement(proposal) >= policy["agree_iou"] and not alone:
                return Verdict("settled", proposal)
        if len(values) < policy["max_votes"]:
            return Verdict("open", more=1)
        return Verdict("review", proposal)

    def learn(
        self, votes: Iterable[tuple[dict[int, Any], Any]], policy: WholePolicy
    ) -> dict[str, dict[str, DrawingSkill]]:
        """Return {"annotators": {id: DrawingSkill}} with accuracies in (0, 1).

        votes: for each question the answers by person id, and the known answer or None. On gold a
        drawing counts with its grade, elsewhere with its agreement with others
        (joining.agreement_points); a few pseudo-drawings keep it near assumed_accuracy.
        """
        points: dict[int, list[float]] = {}
        gold: dict[int, int] = {}
        for answers, known in votes:
            drawn = {person: value for person, value in sorted(answers.items()) if self.vote(value)}
            if known is not None:
                scores: list[float | None] = [self.grade(value, known) for value in drawn.values()]
            else:
                scores = joining.agreement_points(list(drawn.values()))
            for person, point in zip(drawn, scores, strict=True):
                gold[person] = gold.get(person, 0) + (known is not None)
                points.setdefault(person, [])
                if point is not None:
                    points[person].append(point)
        base = ASSUMED_DRAWINGS * policy["assumed_accuracy"]
        return {
            "annotators": {
                str(person): {
                    "accuracy": round(
                        (sum(person_points) + base) / (len(person_points) + ASSUMED_DRAWINGS),
                        DIGITS,
                    ),
                    "answers": len(person_points),
                    "gold": gold[person],
                }
                for person, person_points in sorted(points.items())
            }
        }


def _refusal(message: str) -> Refusal:
    return Refusal(message, field="value", code="bad_value")


def _clean_skip(value: dict[str, object]) -> Skipped:
    reason = value["skip"]
    if len(value) > 1:
        raise _refusal("An answer must either skip the object or describe its parts.")
    if not isinstance(reason, str) or reason not in Parts.abstentions:
        raise _refusal(f"An object is skipped as {_listed(word for word, _, _ in SKIPS)}.")
    return {"skip": reason}


def _clean_half(half: object) -> bool | None:
    if half is False:
        raise _refusal(
            "Fewer than half of the missing parts can be drawn: then skip the object as under_half."
        )
    if half is not None and half is not True:
        raise _refusal("half is true, or null where it was not asked.")
    return True if half else None


def _clean_outline(
    outline: object, settings: Mapping[str, object], context: DrawingContext
) -> PolygonLists | None:
    if outline is None or outline == []:
        return None
    if not settings.get("ask_outline"):
        raise _refusal("This campaign asks for no outline of the object; leave it out.")
    return polygons.as_json(_clean_polygons(outline, context, "The outline of the object"))


def _clean_polygons(value: object, context: DrawingContext, subject: str) -> polygons.Polygons:
    """Validate like polygons.clean; refusals have the code by which the page returns a drawing."""
    try:
        return polygons.clean(value, context.width, context.height, subject)
    except Refusal as refusal:
        refusal.code, refusal.field = "bad_value", "value"
        raise


def _clean_parts(
    parts: dict[Any, object], category: AskedCategory, context: DrawingContext
) -> dict[str, PartAnswer]:
    known = {part["key"]: part for part in category["parts"]}
    if unknown := sorted(str(key) for key in set(parts) - set(known)):
        raise _refusal(
            f"{category['name'].capitalize()} has no part {unknown[0][:80]!r}; it has "
            f"{_listed(known)}."
        )
    return {key: _clean_part(parts[key], known[key], context) for key in sorted(parts)}


def _clean_part(label: object, part: AskedPart, context: DrawingContext) -> PartAnswer:
    subject = f"The part {part['name']!r}"
    state = label.get("state") if isinstance(label, dict) else None
    if not isinstance(label, dict) or not isinstance(state, str) or state not in STATES:
        raise _refusal(f"{subject} needs a state: {_listed(STATES)}.")
    if extra := sorted(str(key) for key in set(label) - {"state", "polygons", "came"}):
        raise _refusal(f"{subject} has no {extra[0][:80]!r}; it has a state and polygons.")
    if state != "drawn":
        if label.get("polygons") or label.get("came"):
            raise _refusal(
                f"{subject} has the state {state.replace('_', ' ')}, but also a drawing."
            )
        return {"state": state}
    drawn = _clean_polygons(label.get("polygons"), context, subject)
    if not drawn:
        raise _refusal(f"{subject} has the state drawn, but no drawing.")
    if len(drawn) > 1 and not part.get("several"):
        raise _refusal(
            gettext(
                "%(part)s is drawn in %(count)s pieces, and only one is allowed. Join them, or "
                "keep one of them."
            )
            % {"part": subject, "count": len(drawn)}
        )
    answer: PartAnswer = {"state": "drawn", "polygons": polygons.as_json(drawn)}
    came = _clean_came(label.get("came"), drawn, part["key"], context, subject)
    return answer if came is None else {**answer, "came": came}


def _clean_came(
    came: object, drawn: polygons.Polygons, part: str, context: DrawingContext, subject: str
) -> ProposalUse | None:
    """Return how the drawing used a proposal; None if it used none, or the proposal has changed.

    Only the proposal and the edits are kept. Without a statement, a drawing equal to a proposal in
    every corner still counts as taken from it.
    """
    if came is None:
        same = (
            token
            for token, each in context.proposals.items()
            if each.part == part and each.polygons == drawn
        )
        if (token := next(same, None)) is None:
            return None
        came = {"proposal": token, "edits": 0}
    token = came.get("proposal") if isinstance(came, dict) else None
    proposal = context.proposals.get(token) if isinstance(token, str) else None
    if not isinstance(came, dict) or not isinstance(token, str) or proposal is None:
        raise _refusal(f"{subject} names a proposal that the model did not make for this image.")
    if proposal.part != part:
        raise _refusal(f"{subject} names a proposal of another part.")
    edits = came.get("edits", 0)
    if isinstance(edits, bool) or not isinstance(edits, int) or not 0 <= edits <= MAX_EDITS:
        raise _refusal(f"{subject}: edits is a whole number from 0 to {MAX_EDITS:,}.")
    likeness = round(regions.iou(drawn, proposal.polygons), joining.DIGITS)
    if likeness < ANOTHER_DRAWING:
        return None
    return {
        "proposal": token,
        "how": joining.TAKEN if likeness >= SAME_DRAWING else joining.MENDED,
        "iou": likeness,
        "edits": edits,
        "box": list(regions.box_of(proposal.polygons)),
        "model": proposal.sha256,
    }


def _check_size(cleaned: DrawnParts) -> None:
    drawn = [label.polygons for label in labels_in(cleaned).values()]
    if sum(len(ring) for parts in drawn for piece in parts for ring in piece) > MAX_CORNERS:
        raise TooLarge(
            gettext(
                "The drawing has more than %(most)s corners altogether. Simplify the largest "
                "parts, or draw them again with fewer."
            )
            % {"most": f"{MAX_CORNERS:,}"},
            field="value",
        )


def _listed(words: Iterable[str]) -> str:
    *most, last = list(words)
    return f"{', '.join(most)} or {last}" if most else str(last)

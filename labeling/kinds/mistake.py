"""Reviews whether a class is right for the image, a minor or a major mistake, or too hard to tell.

An answer may carry tags: why the image is hard, or the class wrong. Source: Russakovsky et al.
(2015), §6.4.2.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from labeling.errors import Refusal
from labeling.kinds.base import JUDGED, PAIRS, Answer, ChoiceKind, DrawingContext
from labeling.sentences import gettext_noop as _

# The keys of an answer with tags.
ANSWER, TAGS_KEY = "answer", "tags"


class Tag(NamedTuple):
    """value: in answers and releases. label, key, words: on the page."""

    value: str
    label: str
    key: str
    words: str


# Types of errors in the order of §6.4.2, without the miscellaneous ones. The words do not reveal
# who named the class.
TAGS = (
    Tag(
        "multiple_objects",
        _("Many objects"),
        "o",
        _("Several objects, and it is unclear which is meant"),
    ),
    Tag(
        "incorrect_annotation",
        _("Wrong name"),
        "a",
        _("The class does not fit at all, as if by a slip"),
    ),
    Tag(
        "small_or_thin", _("Small or thin"), "t", _("The thing is very small or thin in the image")
    ),
    Tag("filter", _("Filter"), "f", _("A filter distorts contrast or colors")),
    Tag(
        "abstract",
        _("Abstract"),
        "b",
        _("A painting, rendering, toy, statue or shadow of the thing"),
    ),
    Tag("closeup", _("Close-up"), "l", _("An extreme close-up of a part")),
    Tag("viewpoint", _("Odd view"), "v", _("Seen from an unusual side, or turned")),
    Tag("text", _("Needs text"), "x", _("Only text in the image says what it is")),
    Tag("occlusion", _("Hidden"), "d", _("Much of the thing is hidden")),
    Tag("collage", _("Collage"), "g", _("Several images in one")),
    Tag("fine_grained", _("Fine-grained"), "n", _("Classes that few people can tell apart")),
    Tag(
        "class_unawareness",
        _("Little-known"),
        "w",
        _("Only people who know this class can name it"),
    ),
    Tag("few_examples", _("Rare look"), "e", _("The object looks unlike most of its class")),
)
TAG_WORDS = tuple(tag.value for tag in TAGS)


class Mistake(ChoiceKind):
    """The kind for reviews of mistakes. The page hides whether a class is the label or a
    classifier's.

    An answer is a word, or with tags {"answer": word, "tags": [tag, …]}.
    """

    name = "mistake"
    picture = "kinds/mistake.svg"
    title = _("Label review")
    heading = _("Is this class right for the image?")
    asks = PAIRS
    release = JUDGED
    tag_labels = {tag.value: tag.label for tag in TAGS}
    options = (
        ("valid", _("Right"), "r"),
        ("minor", _("Minor mistake"), "m"),
        ("major", _("Major mistake"), "j"),
        ("cannot", _("Cannot be labeled"), "c"),
    )

    def question(self, topic: str, settings: object) -> str:
        return f"Is “{topic}” right for the image?"

    def clean(
        self, value: object, settings: Mapping[str, Any], context: DrawingContext | None = None
    ) -> Answer:
        """Return the word; with tags, the object with each tag once, in order. Raises Refusal."""
        if not isinstance(value, dict):
            return super().clean(value, settings, context)
        word = super().clean(value.get(ANSWER), settings, context)
        raw_tags = value.get(TAGS_KEY, [])
        if set(value) - {ANSWER, TAGS_KEY} or not isinstance(raw_tags, list):
            raise _bad(
                "An answer with tags must be an object with only the keys answer and tags, a list."
            )
        for tag in raw_tags:
            if tag not in TAG_WORDS:
                raise _bad(f"{str(tag)[:40]!r} is not a tag; use some of {', '.join(TAG_WORDS)}.")
        tags = [tag for tag in TAG_WORDS if tag in raw_tags]
        return {ANSWER: word, TAGS_KEY: tags} if tags else word

    def tally_name(self, value: Any) -> str:
        return str(value[ANSWER]) if isinstance(value, dict) else str(value)

    def tags(self, value: Any) -> list[str]:
        return value[TAGS_KEY] if isinstance(value, dict) else []

    def grade(self, value: Any, gold: Any) -> float:
        return float(self.tally_name(value) == self.tally_name(gold))


def _bad(message: str) -> Refusal:
    return Refusal(message, field="value", code="bad_value")

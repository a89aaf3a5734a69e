"""Yes or no to a graph of questions about many classes, a page of images at a time.

follow_ups/following.py opens its questions: what a "no" closes is never asked.
"""

from collections.abc import Mapping

from labeling.errors import Refusal
from labeling.kinds.base import GRAPH, ChoiceKind
from labeling.question_graph.ordering import ORDERS
from labeling.question_graph.replaying import MODES
from labeling.sentences import gettext_noop as _

SETTINGS: dict[str, tuple[str, ...]] = {"mode": MODES, "order": ORDERS}
# For "learned": any question may be asked if it saves this many missed labels.
PRICE = "price"
LOWEST_PRICE = 0.0001
# Mean classes per image, for the first forecast.
PRESENT = "present"
MAX_PRESENT = 1000
WORDS = {
    "safe": "a question is skipped if all questions above it are no",
    "strict": "a question is skipped if one question above it is no, as in the paper",
    "breadth": "all questions that can be asked, at once",
    "depth": "one question per image at a time, the most specific first",
    "learned": "one at a time, the question that settles most labels per second",
}


class Hierarchy(ChoiceKind):
    name = "hierarchy"
    picture = "kinds/hierarchy.svg"
    title = _("Question graph (ILSVRC)")
    asks = GRAPH
    release = GRAPH
    topic_pages = True
    options = (("yes", _("Yes"), "y"), ("no", _("No"), "n"), ("hard", _("Too hard to tell"), "h"))
    abstentions = frozenset({"hard"})

    def clean_settings(self, settings: Mapping[str, object]) -> dict[str, object]:
        """Return the settings. Raises Refusal.

        "mode": "safe" or "strict". "order": "breadth", "depth" or "learned". "price": with learned
        order in safe mode; any node may then be asked. "present": mean classes per image, for the
        estimate.

        >>> Hierarchy().clean_settings({"order": "learned"})
        {'mode': 'safe', 'order': 'learned'}
        """
        self.refuse_unknown(settings, (*SETTINGS, PRICE, PRESENT))
        cleaned: dict[str, object] = {}
        for key, words in SETTINGS.items():
            value = settings.get(key, words[0])
            if value not in words:
                raise Refusal(f"{key} is {value!r}; give one of: {', '.join(words)}.", field=key)
            cleaned[key] = value
        if settings.get(PRICE) is not None:
            cleaned[PRICE] = _price(settings[PRICE], cleaned)
        if (present := settings.get(PRESENT)) is not None:
            if (
                isinstance(present, bool)
                or not isinstance(present, (int, float))
                or not 0 < present <= MAX_PRESENT
            ):
                raise Refusal(
                    f"present is {present!r}; expected the mean number of classes per image, above "
                    f"0 and at most {MAX_PRESENT:,}.",
                    field=PRESENT,
                )
            cleaned[PRESENT] = float(present)
        return cleaned


def _price(value: object, settings: Mapping[str, object]) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refusal(f"price is {value!r}; expected a number of missed labels.", field=PRICE)
    if not LOWEST_PRICE <= value <= 1:
        raise Refusal(f"price is {value}; expected {LOWEST_PRICE} to 1 missed labels.", field=PRICE)
    if settings != {"mode": "safe", "order": "learned"}:
        raise Refusal(
            "A price requires the learned order and the safe mode. Choose both, or remove the "
            "price.",
            field=PRICE,
        )
    return float(value)

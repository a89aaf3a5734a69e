"""Which of many classes are in the image? Yes or no to a graph of questions, a page of images each.

Its questions are opened by follow_ups/following.py: what a "no" closes is never asked.
"""

from collections.abc import Mapping

from labeling.errors import Refusal
from labeling.kinds.base import GRAPH, ChoiceKind
from labeling.question_graph.ordering import ORDERS
from labeling.question_graph.replaying import MODES

SETTINGS: dict[str, tuple[str, ...]] = {"mode": MODES, "order": ORDERS}
WORDS = {
    "safe": "A question below several others is closed when all of them are no",
    "strict": "… when one of them is no, as printed in the paper",
    "breadth": "Everything that may be asked, at once",
    "depth": "One question of an image at a time, the most special first",
    "learned": "One at a time, the one that settles most labels a second",
}


class Hierarchy(ChoiceKind):
    name = "hierarchy"
    title = "Which of many classes are in the image?"
    label = "Question graph"
    asks = GRAPH
    release = GRAPH
    topic_pages = True
    options = (
        ("yes", "Yes", "y"),
        ("no", "No", "n"),
        ("hard", "Too hard to tell", "h"),
    )
    abstentions = frozenset({"hard"})

    def clean_settings(self, settings: Mapping[str, object]) -> dict[str, object]:
        """{"mode": "safe" or "strict", "order": "breadth", "depth" or "learned"}. Raises Refusal.

        >>> Hierarchy().clean_settings({"order": "learned"})
        {'mode': 'safe', 'order': 'learned'}
        """
        self.refuse_unknown(settings, tuple(SETTINGS))
        cleaned: dict[str, object] = {}
        for key, words in SETTINGS.items():
            value = settings.get(key, words[0])
            if value not in words:
                raise Refusal(f"{key} is {value!r}; give one of: {', '.join(words)}.", field=key)
            cleaned[key] = value
        return cleaned

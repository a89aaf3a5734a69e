"""Is this class right for the image? It is, it is a minor or a major mistake, or nobody can say."""

from labeling.kinds.base import JUDGED, PAIRS, ChoiceKind


class Mistake(ChoiceKind):
    """For reviews of mistakes: nothing on the page says whether a class is the label or a
    classifier's."""

    name = "mistake"
    title = "Is this class right for the image?"
    label = "Mistake"
    asks = PAIRS
    release = JUDGED
    options = (
        ("valid", "Right", "r"),
        ("minor", "Minor mistake", "m"),
        ("major", "Major mistake", "j"),
        ("cannot", "Cannot be labeled", "c"),
    )

    def question(self, topic: str, settings: object) -> str:
        return f"Is “{topic}” right for the image?"

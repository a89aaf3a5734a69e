"""Does this image contain a/an X? Yes, no, too hard to tell, or not a photograph."""

from labeling.kinds.base import CONTAINS, PAIRS, ChoiceKind


class Contains(ChoiceKind):
    name = "contains"
    title = "Does the image contain it?"
    label = "Contains"
    asks = PAIRS
    release = CONTAINS
    options = (
        ("yes", "Yes", "y"),
        ("no", "No", "n"),
        ("hard", "Too hard to tell", "h"),
        ("not_photo", "Not a photograph", "p"),
    )
    abstentions = frozenset({"hard", "not_photo"})

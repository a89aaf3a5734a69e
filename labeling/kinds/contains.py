"""Yes or no to "is there an X in this image?", with too hard and no photograph."""

from collections.abc import Mapping

from labeling.errors import Refusal
from labeling.kinds.base import CONTAINS, PAIRS, ChoiceKind
from labeling.sentences import gettext_noop as _


class Contains(ChoiceKind):
    name = "contains"
    picture = "kinds/contains.svg"
    title = _("Yes/no question (MAD)")
    asks = PAIRS
    release = CONTAINS
    options = (
        ("yes", _("Yes"), "y"),
        ("no", _("No"), "n"),
        ("hard", _("Too hard to tell"), "h"),
        ("not_photo", _("Not a photograph"), "p"),
    )
    abstentions = frozenset({"hard", "not_photo"})
    can_swipe = True

    def clean_settings(self, settings: Mapping[str, object]) -> Mapping[str, object]:
        """Return {"swiping": False} if people may not swipe, else {}.

        >>> Contains().clean_settings({"swiping": True})
        {}
        """
        self.refuse_unknown(settings, ("swiping",))
        swiping = settings.get("swiping", True)
        if not isinstance(swiping, bool):
            raise Refusal(
                f"swiping is {str(swiping)[:60]!r}; give true or false.", field="settings"
            )
        return {} if swiping else {"swiping": False}

"""Does this image contain a/an X? Yes, no, too hard to tell, or not a photograph."""

from collections.abc import Mapping

from labeling.errors import Refusal
from labeling.kinds.base import CONTAINS, PAIRS, ChoiceKind
from labeling.sentences import gettext_noop as _


class Contains(ChoiceKind):
    name = "contains"
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
        """{"swiping": False} where people may not answer by a swipe; {} where they may.

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

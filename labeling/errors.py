"""Refusals: what the domain says no to, each with a sentence for the person.

`annotator/refusals.py` and the API's exception handler turn them into a page or an HTTP status;
nothing else does.
"""


class Refusal(Exception):
    """A request the domain turns down and that changed nothing.

    message: one clear sentence with the cure. code: stable, for programs. field: which part of the
    request was at fault, where there is one. retry_after: seconds until it is worth a second try.
    """

    status = 400
    code = "refused"
    retry_after: int | None = None

    def __init__(self, message: str, *, field: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        if code:
            self.code = code


class NotYours(Refusal):
    """Something that is not this person's, said as if it did not exist."""

    status = 404
    code = "not_found"


class NotAllowed(Refusal):
    """The person may know of it, but their role does not cover the action."""

    status = 403
    code = "not_allowed"


class Conflict(Refusal):
    """The same identifier came twice with different content, or the state moved on."""

    status = 409
    code = "conflict"


class CampaignClosed(Conflict):
    code = "campaign_closed"


class InTraining(Refusal):
    """The person trains or takes the test first; the labeling page sends them there."""

    status = 409
    code = "in_training"


class Newcomer(InTraining):
    """The person has not begun the training or test that comes first; qualifying.begin does."""


class NotWorking(NotAllowed):
    """The person's work in the campaign rests or has ended; the code says which."""

    code = "not_working"


class TooLarge(Refusal):
    status = 413
    code = "too_large"


class Unavailable(Refusal):
    """A request that is in order and may succeed in a moment."""

    status = 503
    code = "unavailable"
    retry_after = 2


class StoreFault(Refusal):
    """The object store refuses what the site asks of it; whoever runs the site mends it."""

    status = 503
    code = "store_refuses"


class StoreAway(StoreFault):
    """The object store does not answer: a job that meets this waits for it, as if untried."""

    code = "store_away"
    retry_after = 60

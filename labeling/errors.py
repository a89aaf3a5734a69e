"""Refusals of the domain, each with a sentence for the user.

Only `annotator/refusals.py` and the API's exception handler turn them into a page or a status.
"""


class Refusal(Exception):
    """A rejected request that changed nothing.

    message: one clear sentence with the cure. code: stable, for programs. field: the faulty part of
    the request, if any. retry_after: seconds until a retry makes sense.
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
    """The object does not exist or belongs to others; the message does not tell which."""

    status = 404
    code = "not_found"


class NotAllowed(Refusal):
    """The user may see the object, but their role does not allow the action."""

    status = 403
    code = "not_allowed"


class Conflict(Refusal):
    """The same identifier came twice with different content, or the state has changed."""

    status = 409
    code = "conflict"


class CampaignClosed(Conflict):
    code = "campaign_closed"


class InTraining(Refusal):
    """The user must finish training or test first; the labeling page sends them there."""

    status = 409
    code = "in_training"


class Newcomer(InTraining):
    """The user has not started the training or test; qualifying.begin does."""


class NotWorking(NotAllowed):
    """The user's work in the campaign is paused or over; the code says which."""

    code = "not_working"


class TooLarge(Refusal):
    status = 413
    code = "too_large"


class Unavailable(Refusal):
    """A valid request that may succeed in a moment."""

    status = 503
    code = "unavailable"
    retry_after = 2


class StoreFault(Refusal):
    """The object store rejects a request; the site's operator must fix it."""

    status = 503
    code = "store_refuses"


class StoreUnreachable(StoreFault):
    """The object store does not answer; a job waits for it without losing an attempt."""

    code = "store_away"
    retry_after = 60

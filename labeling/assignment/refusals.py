"""Messages for people who cannot answer questions of a campaign, or not this one."""

from django.utils.translation import gettext_noop

from labeling.models import Campaign, Membership

NOT_YOUR_SEAT = gettext_noop(
    "This image is not, or no longer, assigned to you. Continue with the next one."
)
CLOSED = {
    Campaign.State.DRAFT: gettext_noop("This campaign is not open yet. Please come back later."),
    Campaign.State.PAUSED: (
        gettext_noop("This campaign is paused. Your answers are kept; come back later.")
    ),
    Campaign.State.CLOSED: gettext_noop(
        "This campaign is closed. Thank you; there is nothing left to answer."
    ),
}
DEADLINE_PASSED = gettext_noop(
    "The deadline of this campaign has passed. Thank you; your answers are kept."
)
Stage = Membership.Stage
IN_TRAINING = gettext_noop(
    "Before the first real question there is a short training. Open this page to start it."
)
# Stage → (error code, message). The messages are about all of a person's work. They name no answer
# and no image, since that could reveal gold.
NOT_WORKING = {
    Stage.FAILED: (
        "not_qualified",
        gettext_noop(
            "Thank you for taking the test. You did not pass it, so you get no questions in this "
            "campaign."
        ),
    ),
    Stage.PAUSED: (
        "paused",
        gettext_noop(
            "Your work here is paused while a researcher looks at it. Your answers are kept."
        ),
    ),
    Stage.BLOCKED: (
        "blocked",
        gettext_noop(
            "Your work in this campaign has ended. Ask a researcher if you think this is wrong."
        ),
    ),
}

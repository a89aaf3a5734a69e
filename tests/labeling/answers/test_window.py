"""How long an answer may be revised."""

from datetime import timedelta

from django.utils import timezone

from labeling.answers import window
from tests.cases import for_each

POLICY = {"revise_minutes": 10, "revise_answers": 3}


@for_each(
    ("minutes", "further", "revisions", "expected"),
    [
        (10, 99, 1, True),
        (10.1, 2, 1, True),
        (10.1, 3, 1, False),
        (0, 0, window.MAX_REVISIONS - 1, True),
        (0, 0, window.MAX_REVISIONS, False),
        (None, 0, 1, False),
    ],
)
def test_it_is_open_until_both_the_minutes_and_the_further_answers_have_passed(
    minutes, further, revisions, expected
):
    now = timezone.now()
    first_at = None if minutes is None else now - timedelta(minutes=minutes)

    is_open = window.is_open(
        POLICY, revisions=revisions, first_at=first_at, later_answers=further, now=now
    )

    assert is_open is expected

"""People at work, for tests: whole campaigns answered the way pages answer them."""

import uuid
from typing import Any

from labeling import answering, assigning
from labeling.models import Campaign, User

COOT = "n02018207"


def answer_all(user: User, campaign: Campaign, value: Any) -> None:
    """Answers pages until none comes; gold included."""
    while seats := assigning.next_page(user, campaign).seats:
        results = answering.submit(
            user,
            campaign,
            [answering.Sent(uuid.uuid4(), seat.token, value, 1000) for seat in seats],
        )
        assert {result.status for result in results} == {"accepted"}

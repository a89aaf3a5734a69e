"""Sign-up is by invitation: without one in the session the door is closed."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest

INVITATION_KEY = "invitation"


class InvitationOnlyAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        from labeling import people

        return people.find_invitation(request.session.get(INVITATION_KEY, "")) is not None

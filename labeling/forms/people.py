"""Forms of people: invitations, roles, tokens."""

from django import forms

from labeling import people, tokens
from labeling.forms.common import WordedForm
from labeling.models import ApiToken, Membership


class InvitationForm(WordedForm):
    role = forms.ChoiceField(choices=Membership.Role.choices, initial=Membership.Role.ANNOTATOR)
    days = forms.IntegerField(
        label="Valid for days", initial=7, min_value=1, max_value=people.MAX_DAYS
    )
    max_uses = forms.IntegerField(
        label="For how many people", initial=1, min_value=1, max_value=people.MAX_USES
    )
    note = forms.CharField(
        required=False, max_length=200, help_text="For yourself: whom it is meant for."
    )


class RoleForm(WordedForm):
    role = forms.ChoiceField(choices=Membership.Role.choices)


class ReasonForm(WordedForm):
    """Why something is done about a person."""

    reason = forms.CharField(
        max_length=500,
        help_text="Kept with the decision, for everybody who runs this campaign.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class TokenForm(WordedForm):
    name = forms.CharField(max_length=100, help_text="What will use it.")
    scope = forms.ChoiceField(choices=ApiToken.Scope.choices, initial=ApiToken.Scope.READ)
    days = forms.IntegerField(
        label="Valid for days", initial=90, min_value=1, max_value=tokens.MAX_DAYS
    )

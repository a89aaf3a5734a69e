"""Forms of people: invitations, roles, tokens."""

from collections.abc import Iterable
from typing import Any

from django import forms

from labeling.answers import flagging
from labeling.assignment import quotas
from labeling.exchange import lists
from labeling.models import ApiToken, Membership
from labeling.quality import memberships
from labeling.web import tokens
from labeling.web.forms.common import ListsForm, WordedForm, list_file, list_text


class InvitationForm(WordedForm):
    role = forms.ChoiceField(choices=Membership.Role.choices, initial=Membership.Role.ANNOTATOR)
    days = forms.IntegerField(
        label="Days until it expires", initial=7, min_value=1, max_value=memberships.MAX_DAYS
    )
    max_uses = forms.IntegerField(
        label="Number of people", initial=1, min_value=1, max_value=memberships.MAX_USES
    )
    note = forms.CharField(
        required=False, max_length=200, help_text="A note for researchers, such as who it is for."
    )


class InvitationsForm(ListsForm):
    """An invitation for each person of a list."""

    people_file = list_file("File of people", "A name or address in the first column of each line.")
    people = list_text("People as text", "Instead of a file: one name or address per line.")
    role = forms.ChoiceField(choices=Membership.Role.choices, initial=Membership.Role.ANNOTATOR)
    days = forms.IntegerField(
        label="Days until they expire", initial=7, min_value=1, max_value=memberships.MAX_DAYS
    )

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or self.cleaned_data
        cleaned["people"] = self.read_list("people", lists.read_people)
        cleaned.pop("people_file", None)
        return cleaned


class RoleForm(WordedForm):
    role = forms.ChoiceField(choices=Membership.Role.choices)


class ReasonForm(WordedForm):
    """The reason for an action on a member."""

    reason = forms.CharField(
        max_length=500,
        help_text="Stored with the decision; researchers of the campaign can read it.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class ReplyForm(WordedForm):
    """A researcher's reply to a flag."""

    reply = forms.CharField(
        label="Your reply", max_length=flagging.MAX_TEXT, widget=forms.Textarea(attrs={"rows": 2})
    )


class QuotasForm(WordedForm):
    """The highest number of images of each topic that a member is asked about; empty or 0: none."""

    def __init__(self, rows: Iterable[quotas.TopicQuota], *args: Any, **kwargs: Any) -> None:
        """rows: from quotas.for_member."""
        super().__init__(*args, **kwargs)
        self.rows = list(rows)
        for row in self.rows:
            self.fields[f"quota-{row.topic}"] = forms.IntegerField(
                label=row.name,
                initial=row.images,
                required=False,
                min_value=0,
                max_value=quotas.MAX_QUOTA,
                help_text=f"{row.done} answered" if row.images else "",
            )

    def images_by_topic(self) -> dict[str, int]:
        """Return topic → images of the topics with a quota."""
        quotas_of_rows = ((row.topic, self.cleaned_data[f"quota-{row.topic}"]) for row in self.rows)
        return {topic: images for topic, images in quotas_of_rows if images}


class TokenForm(WordedForm):
    name = forms.CharField(max_length=100, help_text="What the token is for.")
    scope = forms.ChoiceField(choices=ApiToken.Scope.choices, initial=ApiToken.Scope.READ)
    days = forms.IntegerField(
        label="Days until it expires", initial=90, min_value=1, max_value=tokens.MAX_DAYS
    )

"""The page for reviewing mistakes: the answer includes the ticked tags."""

from django.http import QueryDict
from django.utils.translation import gettext

from annotator.kinds.base import Context, Page
from labeling.answers.submitted_answers import SubmittedAnswer, read_form
from labeling.kinds.mistake import ANSWER, TAGS, TAGS_KEY
from labeling.models import Campaign


class MistakesPage(Page):
    def context(self, campaign: Campaign) -> Context:
        tags = [tag._replace(label=gettext(tag.label), words=gettext(tag.words)) for tag in TAGS]
        return super().context(campaign) | {"tags": tags}

    def read(self, post: QueryDict, campaign: Campaign) -> list[SubmittedAnswer]:
        word = post.get("value", "")
        tags = post.getlist(TAGS_KEY)
        value = {ANSWER: word, TAGS_KEY: tags} if word and tags else word
        return [read_form(post.dict() | {"value": value}, gettext(self.missing))]

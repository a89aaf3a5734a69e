"""Researchers' forms, by pages. What the domain refuses comes back at the field it names."""

from labeling.web.forms.campaigns import CampaignForm, NewCampaignForm
from labeling.web.forms.common import ListsForm, WordedForm, add_refusal, list_file
from labeling.web.forms.datasets import DatasetForm, ImportForm, UploadForm
from labeling.web.forms.graph import GraphForm, NodeForm
from labeling.web.forms.people import InvitationForm, QuotasForm, ReasonForm, RoleForm, TokenForm
from labeling.web.forms.policy import PolicyForm
from labeling.web.forms.questions import (
    AuditAnswerForm,
    AuditForm,
    ExampleForm,
    GoldDrawingForm,
    GoldForm,
    GoldListForm,
    PilotForm,
    QuestionFilterForm,
    QuestionsForm,
    SendBackForm,
    TopicForm,
    VerdictForm,
    answer_choices,
    answer_of,
)

__all__ = [
    "AuditAnswerForm",
    "AuditForm",
    "CampaignForm",
    "DatasetForm",
    "ExampleForm",
    "GoldDrawingForm",
    "GoldForm",
    "GoldListForm",
    "GraphForm",
    "ImportForm",
    "InvitationForm",
    "ListsForm",
    "NewCampaignForm",
    "NodeForm",
    "PilotForm",
    "PolicyForm",
    "QuestionFilterForm",
    "QuestionsForm",
    "QuotasForm",
    "ReasonForm",
    "RoleForm",
    "SendBackForm",
    "TokenForm",
    "TopicForm",
    "UploadForm",
    "VerdictForm",
    "WordedForm",
    "add_refusal",
    "answer_choices",
    "answer_of",
    "list_file",
]

"""Researchers' forms, by pages. What the domain refuses comes back at the field it names."""

from labeling.forms.campaigns import CampaignForm, NewCampaignForm
from labeling.forms.common import ListsForm, WordedForm, add_refusal, list_file
from labeling.forms.datasets import DatasetForm, ImportForm, UploadForm
from labeling.forms.graph import GraphForm, NodeForm
from labeling.forms.people import InvitationForm, ReasonForm, RoleForm, TokenForm
from labeling.forms.policy import PolicyForm
from labeling.forms.questions import (
    AuditAnswerForm,
    AuditForm,
    ExampleForm,
    GoldForm,
    GoldListForm,
    PilotForm,
    QuestionFilterForm,
    QuestionsForm,
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
    "ReasonForm",
    "RoleForm",
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

"""The campaign domain's tables. One row, one meaning; each kind of row has one writer.

| file | nouns |
|---|---|
| people.py | User, ApiToken, Membership, Invitation |
| images.py | Dataset, Image, Import, Item |
| campaigns.py | Campaign, Policy, Topic, Example, Decision |
| questions.py | Question, Gold, Assignment, Answer, Settlement |
| work.py | Job, Release |
"""

from labeling.models.campaigns import Campaign, Decision, Example, Policy, Topic
from labeling.models.images import Dataset, Image, Import, Item
from labeling.models.people import ApiToken, Invitation, Membership, User
from labeling.models.questions import Answer, Assignment, Gold, Question, Settlement
from labeling.models.work import Job, Release

__all__ = [
    "Answer",
    "ApiToken",
    "Assignment",
    "Campaign",
    "Dataset",
    "Decision",
    "Example",
    "Gold",
    "Image",
    "Import",
    "Invitation",
    "Item",
    "Job",
    "Membership",
    "Policy",
    "Question",
    "Release",
    "Settlement",
    "Topic",
    "User",
]

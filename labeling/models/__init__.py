"""The campaign domain's tables. One row, one meaning; each kind of row has one writer.

| file | nouns |
|---|---|
| people.py | User, ApiToken, Membership, Quota, Invitation |
| images.py | Dataset, Image, ImageRank, SavedView, Tombstone, Import, Item, |
| | GivenLabel, Vocabulary |
| campaigns.py | Campaign, CampaignText, InstructionsVersion, Policy, Graph, Calibration, |
| | Topic, Example, Decision |
| questions.py | Question and its counters, Gold, Seat, Answer, Draft, SentBack, |
| | Settlement, Audit |
| candidates.py | Candidate, Verification |
| flags.py | Flag |
| naming.py | NamedProposal, SecondAnswer |
| assistance.py | SegmentationNetwork, ImageEmbedding, Assistance, Proposal |
| work.py | Job, Release, ReplacedRelease |
"""

# ruff: noqa: F401
from labeling.models.assistance import Assistance, ImageEmbedding, Proposal, SegmentationNetwork
from labeling.models.campaigns import (
    Calibration,
    Campaign,
    CampaignText,
    Decision,
    Example,
    Graph,
    InstructionsVersion,
    Policy,
    Topic,
)
from labeling.models.candidates import Candidate, Verification
from labeling.models.flags import Flag
from labeling.models.images import (
    Dataset,
    GivenLabel,
    Image,
    ImageRank,
    Import,
    Item,
    SavedView,
    Tombstone,
    Vocabulary,
)
from labeling.models.naming import NamedProposal, SecondAnswer
from labeling.models.people import ApiToken, Invitation, Membership, Quota, User, canonical_username
from labeling.models.questions import (
    Answer,
    Audit,
    Draft,
    Gold,
    Question,
    QuestionCount,
    Seat,
    SentBack,
    Settlement,
)
from labeling.models.work import Job, Release, ReplacedRelease

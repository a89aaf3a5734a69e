"""The kinds of question, each a module with the same outline.

| name | returns |
|---|---|
| NAME, TITLE | its identifier and its words for people |
| clean_settings(settings) | the checked settings, or a Refusal |
| choices(settings) | what the page offers |
| page_size(policy) | questions handed out at once |
| clean(value, settings) | the checked answer, or a Refusal |
| grade(value, gold) | how right it is, in [0, 1] |
| vote(value) | the word it counts for, None for an abstention |
| classes(settings) | the words votes count for, where these are not no and yes |
| tally_name(value) | the word under which exports count it |
| settle(values, policy) | a Verdict (votes.py) |
| TOPIC_PAGES | where true, a page is one question about many images |
| statistics(campaign) | what a calibration keeps for the kind, where it has that |
"""

from types import ModuleType

from labeling.kinds import contains, hierarchy, naming
from labeling.kinds.votes import Verdict

KINDS: dict[str, ModuleType] = {kind.NAME: kind for kind in (contains, hierarchy, naming)}

__all__ = ["KINDS", "Verdict"]

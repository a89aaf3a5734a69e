"""The kinds of question, each a module with the same outline.

| name | returns |
|---|---|
| NAME, TITLE | its identifier and its words for people |
| clean_settings(settings) | the checked settings, or a Refusal |
| choices(settings) | what the page offers |
| page_size(policy) | questions handed out at once |
| clean(value, settings) | the checked answer, or a Refusal; see clean_answer |
| grade(value, gold) | how right it is, in [0, 1] |
| is_right(value, gold, policy) | whether that counts as right |
| vote(value) | the word it counts for, None for an abstention |
| classes(settings) | the words votes count for, where these are not no and yes |
| tally_name(value) | the word under which exports count it |
| TALLY_WORDS | what people see for words that are no choices |
| settle(values, policy) | a Verdict (votes.py) |
| TOPIC_PAGES | where true, a page is one question about many images |
| settle_weighted(values, weights, policy) | as settle, where votes are no words |
| learn(votes, policy) | what a calibration says of people, where votes are no words |
| likeness(value, gold) | how right each part of it is, where it has parts |
| METHODS | the methods of a policy that it knows, where these are not all |
| ABSTENTIONS | words that say nothing of the truth |
| DRAWN | where true, answers are drawings: checked against what they are about, kept as drafts, |
| | sent back to be mended; gold is balanced by topic; no audit asks for them again |
| LONGEST_WORK_MS | an answer that took longer was a pause, where that is not two minutes |
| KEPT_SETTINGS | settings that a deed of its own writes, where it has such |
| POLICY | keys of a policy that are others for this kind unless somebody says so |
"""

from types import ModuleType
from typing import Any

from labeling.kinds import contains, hierarchy, naming, parts
from labeling.kinds.parts import About
from labeling.kinds.votes import Verdict

KINDS: dict[str, ModuleType] = {kind.NAME: kind for kind in (contains, hierarchy, naming, parts)}

__all__ = ["KINDS", "About", "Verdict", "clean_answer", "is_drawn"]


def is_drawn(kind: ModuleType) -> bool:
    """Whether answers of this kind are drawings; see DRAWN."""
    return getattr(kind, "DRAWN", False)


def clean_answer(
    kind: ModuleType, value: Any, settings: dict[str, Any], about: About | None = None
) -> Any:
    """The checked answer. about: what it is about, where the kind is drawn. Raises Refusal."""
    if is_drawn(kind):
        return kind.clean(value, settings, about)
    return kind.clean(value, settings)

"""Glosses as integers: words of definitions, and the definitions around a synset."""

import functools
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.wordnet.nouns import WordNet

# The glosses used for a synset: its own and those one link away, including instance links.
# Attributes are left out, because they lead to adjectives.
RELATIONS: dict[str, tuple[str, ...]] = {
    "gloss": (),
    "hypernyms": ("@", "@i"),
    "hyponyms": ("~", "~i"),
    "meronyms": ("%m", "%s", "%p"),
    "holonyms": ("#m", "#s", "#p"),
}
# Pronouns, prepositions, articles, conjunctions and auxiliaries: phrases neither begin nor end
# with one, and they carry no topic.
_FUNCTION_WORDS = """
    a about above across after against all along also although am among an and another any anyone
    anything are around as at be because been before behind being below beneath beside between
    beyond both but by can could did do does done down during each either etc every everyone
    everything few for from had has have having he her hers herself him himself his how however i if
    in inside into is it its itself less like many may me might mine more most much must my myself
    near neither no nobody none nor not nothing of off on one onto or other others our ours
    ourselves out outside over own per same shall she should since so some someone something such
    than that the their theirs them themselves then there these they this those though through
    throughout thus till to too toward towards under until up upon us very was we were what whatever
    when where whether which while who whoever whole whom whose why will with within without would
    you your yours yourself
"""
FUNCTION_WORDS = tuple(_FUNCTION_WORDS.split())
# Between two glosses, so that no phrase runs from one into the next.
GAP = -1
_WORD = re.compile(r"[a-z0-9]+")


def words(text: str) -> list[str]:
    """Return the lower-case words and numbers of a text, without apostrophes.

    >>> words("a dog's 2nd-best Bone")
    ['a', 'dogs', '2nd', 'best', 'bone']
    """
    return _WORD.findall(text.lower().replace("'", ""))


@dataclass(frozen=True)
class Glosses:
    """The gloss of every synset as word indices; those below `function` are function words.

    numbers: all glosses concatenated, int32; that of i is `numbers[start[i]:start[i + 1]]`.
    """

    vocabulary: tuple[str, ...]
    numbers: NDArray[np.int32]
    start: NDArray[np.int64]
    function: int = len(FUNCTION_WORDS)

    def of(self, index: int) -> NDArray[np.int32]:
        return self.numbers[self.start[index] : self.start[index + 1]]


@functools.lru_cache(maxsize=2)
def glosses(wordnet: WordNet) -> Glosses:
    """Return all glosses of a WordNet, without examples; the first call takes a second or two."""
    known = {word: number for number, word in enumerate(FUNCTION_WORDS)}
    numbers: list[int] = []
    start = [0]
    for index in range(len(wordnet)):
        for word in words(wordnet.gloss(index)):
            numbers.append(known.setdefault(word, len(known)))
        start.append(len(numbers))
    return Glosses(tuple(known), np.array(numbers, np.int32), np.array(start, np.int64))


def related(wordnet: WordNet, index: int, relation: str) -> list[int]:
    """Return the synsets in one of RELATIONS to a synset; itself for `gloss`."""
    symbols = RELATIONS[relation]
    return wordnet.linked(index, symbols) if symbols else [index]

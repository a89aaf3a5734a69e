"""`manage.py wordnet`: distances and definitions from WordNet 3.0."""

from typing import Any

from django.core.management.base import CommandParser

from evaluation.metrics import wordnet as wn
from evaluation.metrics.distances import DISTANCES, NoPlaceInHierarchy, distance_matrix
from labeling.files import BadInput
from labeling.management.contract import ContractCommand, Result


class Command(ContractCommand):
    help = "Distances between labels, and what a label means, from WordNet 3.0."

    def add_arguments(self, parser: CommandParser) -> None:
        distance = self.verb(parser, "distance", self.distance, help="how far apart two labels lie")
        distance.add_argument("a", metavar="A", help="a wnid, dog.n.01, or a lemma of one sense")
        distance.add_argument("b", metavar="B")
        define = self.verb(parser, "define", self.define, help="gloss and synonyms of a label")
        define.add_argument("label", metavar="LABEL")

    def distance(self, a: str, b: str, **options: Any) -> Result:
        """The distances of MAD and the height of the nearest common ancestor."""
        wordnet = load()
        pair = [find(wordnet, a), find(wordnet, b)]
        result: Result = {}
        try:
            for name in DISTANCES:
                if name != "zero-one":
                    value = float(distance_matrix(wordnet, pair, name)[0, 1])
                    whole = name.startswith("hops")
                    result[name.replace("-", "_")] = int(value) if whole else value
            result["ancestor_height"] = wordnet.ancestor_height(*pair)
        except NoPlaceInHierarchy as error:
            raise BadInput(str(error), cure="name a class, not an instance") from error
        return result

    def define(self, label: str, **options: Any) -> Result:
        """What a label means."""
        wordnet = load()
        index = find(wordnet, label)
        synset = wordnet.synset(index)
        return {
            "wnid": synset.wnid,
            "name": synset.name,
            "lemmas": list(synset.lemmas),
            "gloss": synset.gloss,
            "examples": list(synset.examples),
            "hypernyms": [wordnet.wnid(i) for i in wordnet.hypernyms(index)],
        }


def load() -> wn.WordNet:
    """This machine's WordNet, or the refusal that says how to get it."""
    try:
        return wn.load()
    except wn.WordNetMissing as error:
        raise BadInput(error.message, cure=error.cure) from error


def find(wordnet: wn.WordNet, label: str) -> int:
    """The synset of a label, or the refusal that lists what may have been meant."""
    try:
        return wordnet.find(label)
    except wn.UnknownLabel as error:
        cure = "give one of these wnids" if error.candidates else "give a wnid such as n02084071"
        raise BadInput(str(error), cure=cure) from error

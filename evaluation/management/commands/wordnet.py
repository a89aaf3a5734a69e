"""`manage.py wordnet`: distances, similarities and definitions from WordNet 3.0."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.mappings import Mapping, places_in, read_mapping
from evaluation.metrics import similarity as similarities
from evaluation.metrics import similarity_criteria
from evaluation.metrics import wordnet as wn
from evaluation.metrics.distances import DISTANCES, NoPlaceInHierarchy, distance_matrix
from evaluation.metrics.gloss_vectors import NOTE
from evaluation.pools import read_classes
from labeling.files import BadInput
from labeling.management.contract import ContractCommand, Result

NOT_AN_INSTANCE = "name a class, not an instance"


class Command(ContractCommand):
    help = "Distances and similarities of labels, and what a label means, from WordNet 3.0."

    def add_arguments(self, parser: CommandParser) -> None:
        distance = self.verb(parser, "distance", self.distance, help="how far apart two labels lie")
        similarity = self.verb(parser, "similarity", self.similarity, help="how alike two are")
        for pair in (distance, similarity):
            pair.add_argument("a", metavar="A", help="a wnid, dog.n.01, or a lemma of one sense")
            pair.add_argument("b", metavar="B")
        criteria = self.verb(
            parser, "criteria", self.criteria, help="how well a measure fits a mapping of classes"
        )
        criteria.add_argument("--mapping", type=Path, required=True, help="category,wnid rows")
        criteria.add_argument("--pool", type=Path, required=True, help="all classes, a wnid a line")
        for verb in (similarity, criteria):
            verb.add_argument("--measure", choices=similarities.MEASURES, default="wup")
            verb.add_argument("--convention", choices=similarities.CONVENTIONS, default="clean")
            verb.add_argument(
                "--by",
                choices=similarities.BY,
                default="wnid",
                help="word: the first noun sense of a word, or of a class's first lemma",
            )
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
            raise BadInput(str(error), cure=NOT_AN_INSTANCE) from error
        return result

    def similarity(
        self, a: str, b: str, measure: str, convention: str, by: str, **options: Any
    ) -> Result:
        """How alike two labels are, and the ancestor that says so."""
        wordnet = load()
        one, other = find(wordnet, a, by), find(wordnet, b, by)
        if measure not in similarities.BY_GLOSS:
            for index in (one, other):
                if wordnet.depth[index] < 0:
                    instance = NoPlaceInHierarchy(wordnet.wnid(index), wordnet.name(index))
                    raise BadInput(str(instance), cure=NOT_AN_INSTANCE)
        try:
            given = (wordnet, [one], [other], measure, convention)
            value = similarities.similarity_matrix(*given)[0, 0]
            ancestor = int(similarities.ancestor_matrix(*given)[0, 0])
        except wn.WordNetMissing as error:
            raise BadInput(error.message, cure=error.cure) from error
        return {
            "similarity": float(value),
            "ancestor": wordnet.wnid(ancestor) if ancestor >= 0 else None,
            "a": wordnet.wnid(one),
            "b": wordnet.wnid(other),
            **_settings(measure, convention, by),
        }

    def criteria(
        self, mapping: Path, pool: Path, measure: str, convention: str, by: str, **options: Any
    ) -> Result:
        """Both criteria of Sarvadevabhatla et al. (2016), Supplement B."""
        wordnet = load()
        mapped = read_mapping(mapping, wordnet)
        classes = read_classes(pool, wordnet)
        if len(classes) < 2:
            raise BadInput("there is one class", pool, None, "list all classes of the classifiers")
        places = places_in(mapped, classes, pool)
        synsets = [wordnet.index(wnid) for wnid in classes]
        if by == "word":
            synsets = [similarities.as_word(wordnet, index) for index in synsets]
        try:
            found = similarity_criteria.criteria(
                wordnet, _categories(wordnet, mapped, by), synsets, places, measure, convention
            )
        except wn.WordNetMissing as error:
            raise BadInput(error.message, cure=error.cure) from error
        return {
            "criterion_1": found.criterion_1,
            "criterion_2": found.criterion_2,
            "categories": len(mapped.classes),
            "mapped": found.mapped,
            "pool": len(classes),
            "ties": found.ties,
            **_settings(measure, convention, by),
        }

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


def find(
    wordnet: wn.WordNet,
    label: str,
    by: str = "wnid",
    file: Path | None = None,
    line: int | None = None,
) -> int:
    """The synset of a label, or the refusal that lists what may have been meant."""
    try:
        return similarities.meant(wordnet, label, by)
    except wn.UnknownLabel as error:
        cure = "give one of these wnids" if error.candidates else "give a wnid such as n02084071"
        if error.candidates and file:
            cure += ", or take first senses with --by word"
        raise BadInput(str(error), file, line, cure) from error


def _categories(wordnet: wn.WordNet, mapping: Mapping, by: str) -> list[int]:
    return [find(wordnet, name, by, mapping.path, mapping.lines[name]) for name in mapping.classes]


def _settings(measure: str, convention: str, by: str) -> Result:
    told = {"measure": measure, "convention": convention, "by": by}
    return told | ({"note": NOTE} if measure.startswith("vector") else {})

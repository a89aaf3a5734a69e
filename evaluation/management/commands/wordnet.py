"""`manage.py wordnet`: distances and similarities from WordNet 3.0."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation.management.named_files import named_files
from evaluation.metrics.wordnet import nltk_similarity, similarity_criteria
from evaluation.metrics.wordnet import nouns as wn
from evaluation.metrics.wordnet import similarity as similarities
from evaluation.metrics.wordnet.distances import DISTANCES, NoPlaceInHierarchy, distance_matrix
from evaluation.metrics.wordnet.embeddings import BY
from evaluation.metrics.wordnet.gloss_vectors import NOTE
from evaluation.readers import content_files, embedding_files, label_sets
from evaluation.readers.mappings import Mapping, places_in, read_mapping
from evaluation.readers.pools import read_classes
from evaluation.readers.shipped import PASCAL, PPS_12, classes_file, mapping_file
from labeling.bounded_numbers import whole
from labeling.files import BadInput
from labeling.management.contract import ContractCommand, UsageError, table
from labeling.plurals import count_of

NOT_AN_INSTANCE = "name a class, not an instance"


class Command(ContractCommand):
    help = "Distances and similarities of labels, from WordNet 3.0."

    def add_arguments(self, parser: CommandParser) -> None:
        distance = self.verb(parser, "distance", self.distance, help="how far apart two labels lie")
        similarity = self.verb(parser, "similarity", self.similarity, help="how alike two are")
        for pair in (distance, similarity):
            pair.add_argument("a", metavar="A", help="a wnid, dog.n.01, or a lemma of one sense")
            pair.add_argument("b", metavar="B", help="another label")
        criteria = self.verb(
            parser, "criteria", self.criteria, help="how well a measure fits a mapping of classes"
        )
        criteria.add_argument(
            "--mapping",
            type=mapping_file,
            required=True,
            metavar="mapping.csv",
            help="category,wnid rows; pascal: ours, to ILSVRC's classes",
        )
        criteria.add_argument(
            "--pool",
            type=classes_file,
            required=True,
            metavar="wnids.txt",
            help="all classes, a wnid a line; ilsvrc: the 1000 of ILSVRC 2012",
        )
        criteria.add_argument(
            "--categories",
            nargs="?",
            const=",".join(PPS_12),
            metavar="A,B,…",
            help="only these of the mapping; without a value the paper's 12 (PPS-12)",
        )
        add_similarity(
            similarity, "--measure", similarities.MEASURES, "it", (nltk_similarity.CONVENTION,)
        )
        similarity.add_argument(
            "--ic",
            type=Path,
            metavar="FILE",
            help="counts of WordNet::Similarity, for res, lin and jcn of --convention nltk",
        )
        add_similarity(criteria, "--measure", similarities.MEASURES, "it")
        self._label_verbs(parser)

    def _label_verbs(self, parser: CommandParser) -> None:
        """The verbs of hp@k: sets of labels, and embeddings of words."""
        near = self.verb(
            parser, "near", self.near, show_labels, help="the labels some hops from those of a list"
        )
        near.add_argument(
            "labels",
            metavar="SEED",
            help="a file with a wnid a line, ilsvrc, or one label: a wnid, dog.n.01, a lemma",
        )
        near.add_argument("--hops", type=whole(), required=True, metavar="N", help="up or down")
        near.add_argument(
            "--among",
            type=classes_file,
            metavar="WNIDS",
            help="only labels of this list, a wnid a line",
        )
        sets = self.verb(
            parser, "correct-sets", self.correct_sets, show_sizes, help="how large hCorrectSets are"
        )
        sets.add_argument(
            "labels", metavar="[NAME=]WNIDS", nargs="+", help="valid labels, a wnid a line"
        )
        sets.add_argument(
            "--true", type=Path, metavar="WNIDS", help="labels to average over; else the valid ones"
        )
        nearest = self.verb(
            parser, "nearest", self.nearest, help="predictions from vectors of images and of terms"
        )
        embed = self.verb(
            parser, "embed", self.embed, help="the vectors that labels are trained towards"
        )
        for verb in (nearest, embed):
            verb.add_argument(
                "--terms",
                type=Path,
                required=True,
                help="vectors of terms: an .npz of terms and vectors, or a .csv",
            )
            verb.add_argument("--labels", type=Path, required=True, help="a wnid a line")
            verb.add_argument("--out", type=Path, required=True, help="the file that is written")
        nearest.add_argument("--vectors", type=Path, required=True, help="an .npy, a row an image")
        nearest.add_argument("--images", type=Path, required=True, help="an image id a line")
        nearest.add_argument("-k", type=whole(1), default=20, help="so many predictions an image")
        nearest.add_argument(
            "--nearest", type=whole(1), metavar="N", help="so many terms are looked at; else 4 k"
        )
        embed.add_argument(
            "--by", choices=BY, default="first", help="which term of a label, or the mean of all"
        )
        embed.add_argument("--seed", type=whole(), default=0, help="of --by random (0)")

    def near(
        self, labels: str, hops: int, among: Path | None, **options: Any
    ) -> label_sets.NearLabels:
        """Return the zero-shot label sets of DeViSE."""
        wordnet, path = load(), classes_file(labels)
        if path.exists() or len(path.parts) > 1 or path.suffix == ".txt":
            seed = [wordnet.index(wnid) for wnid in read_classes(path, wordnet)]
        else:
            seed = [find(wordnet, labels)]
        return label_sets.near(wordnet, seed, hops, among)

    def correct_sets(
        self, labels: list[str], true: Path | None, **options: Any
    ) -> label_sets.SizeTable:
        """Table 1 of DeViSE's appendix."""
        return label_sets.correct_set_sizes(load(), named_files(labels), true)

    def nearest(
        self, terms: Path, vectors: Path, images: Path, labels: Path, out: Path, **options: Any
    ) -> embedding_files.Predicted:
        """predictions.csv for `score classification`."""
        counts = options["k"], options["nearest"]
        return embedding_files.predict(load(), terms, vectors, images, labels, out, *counts)

    def embed(
        self, terms: Path, labels: Path, out: Path, by: str, seed: int, **options: Any
    ) -> embedding_files.Embedded:
        """Return a row a label, in the order of the list."""
        return embedding_files.embed(load(), terms, labels, out, by, seed)

    def distance(self, a: str, b: str, **options: Any) -> dict[str, object]:
        """Return the distances of MAD and the height of the nearest common ancestor."""
        wordnet = load()
        pair = [find(wordnet, a), find(wordnet, b)]
        result: dict[str, object] = {}
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
        self,
        a: str,
        b: str,
        measure: str,
        convention: str,
        by: str,
        ic: Path | None,
        **options: Any,
    ) -> dict[str, object]:
        """Return how alike two labels are, and the ancestor that says so."""
        _check_convention(measure, convention, ic)
        wordnet = load()
        first, second = find(wordnet, a, by), find(wordnet, b, by)
        value: float | None
        try:
            if convention == nltk_similarity.CONVENTION:
                contents = content_files.read(ic, wordnet) if ic else None
                value, ancestor = nltk_similarity.compare(wordnet, first, second, measure, contents)
            else:
                arguments = (wordnet, [first], [second], measure, convention)
                value = float(similarities.similarity_matrix(*arguments)[0, 0])
                ancestor = int(similarities.ancestor_matrix(*arguments)[0, 0])
        except wn.WordNetMissing as error:
            raise BadInput(error.message, cure=error.cure) from error
        return {
            "similarity": value,
            "ancestor": wordnet.wnid(ancestor) if ancestor >= 0 else None,
            "a": wordnet.wnid(first),
            "b": wordnet.wnid(second),
            **_settings(measure, convention, by),
            **({"ic": str(ic)} if ic else {}),
            **_instances(wordnet, [first, second]),
        }

    def criteria(
        self,
        mapping: Path,
        pool: Path,
        measure: str,
        convention: str,
        by: str,
        categories: str | None,
        **options: Any,
    ) -> dict[str, object]:
        """Return both criteria of Sarvadevabhatla et al. (2016), Supplement B."""
        wordnet = load()
        mapped = read_mapping(mapping, wordnet)
        if categories is not None:
            mapped = _restricted(wordnet, mapped, categories, by)
        classes = read_classes(pool, wordnet)
        if len(classes) < 2:
            raise BadInput("there is one class", pool, None, "list all classes of the classifiers")
        places = places_in(mapped, classes, pool)
        synsets = [wordnet.index(wnid) for wnid in classes]
        if by == "word":
            synsets = [similarities.as_word(wordnet, index) for index in synsets]
        category_synsets = _categories(wordnet, mapped, by)
        try:
            result = similarity_criteria.criteria(
                wordnet, category_synsets, synsets, places, measure, convention
            )
        except wn.WordNetMissing as error:
            raise BadInput(error.message, cure=error.cure) from error
        return {
            "criterion_1": result.criterion_1,
            "criterion_2": result.criterion_2,
            "categories": len(mapped.classes),
            "mapped": result.mapped,
            "pool": len(classes),
            "ties": result.ties,
            **_settings(measure, convention, by),
            **_instances(wordnet, [*category_synsets, *synsets]),
        }


def add_similarity(
    verb: CommandParser,
    flag: str,
    measures: Sequence[str],
    called: str = "the similarity",
    more_conventions: Sequence[str] = (),
) -> None:
    """The options that choose a similarity: flag, --convention and --by."""
    verb.add_argument(flag, choices=measures, default="wup", help="how alike two classes are (wup)")
    verb.add_argument(
        "--convention",
        choices=(*similarities.CONVENTIONS, *more_conventions),
        default="clean",
        help=f"how {called} is reckoned (clean)",
    )
    verb.add_argument(
        "--by",
        choices=similarities.BY,
        default="wnid",
        help="word: the first noun sense of a word, or of a class's first lemma",
    )


def show_labels(result: label_sets.NearLabels) -> str:
    """Return a label a line, with its words, then how many there are."""
    wordnet = load()
    rows = [(wnid, ", ".join(wordnet.lemmas(wordnet.index(wnid)))) for wnid in result.labels]
    within = f"{count_of(result.count, 'label')} within {count_of(result.hops, 'hop')}"
    return "\n\n".join(filter(None, [table(rows), f"{within}, {result.of_the_seed} given"]))


def show_sizes(result: label_sets.SizeTable) -> str:
    """Return a row a set of labels, a column a k."""
    rows = [
        (row.name, row.labels, *(round(x, 2) for x in row.mean_correct_set_size.values()))
        for row in result.rows
    ]
    ks = [f"k = {k}" for k in result.rows[0].mean_correct_set_size]
    return f"{table(rows, head=('valid labels', 'labels', *ks))}\n\n{result.hierarchy}"


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
    """Return the synset of a label, or the refusal that lists what may have been meant."""
    try:
        return similarities.meant(wordnet, label, by)
    except wn.UnknownLabel as error:
        cure = "give one of these wnids" if error.candidates else "give a wnid such as n02084071"
        if error.candidates and file:
            cure += ", or take first senses with --by word"
        raise BadInput(str(error), file, line, cure) from error


def _check_convention(measure: str, convention: str, ic: Path | None) -> None:
    """Raises UsageError for a measure that nltk lacks, and for --ic missing or out of place."""
    by_content = measure in similarities.BY_CONTENT
    if convention != nltk_similarity.CONVENTION:
        if ic:
            raise UsageError("--ic is nltk's: give --convention nltk with it")
    elif measure not in nltk_similarity.MEASURES:
        measures = ", ".join(nltk_similarity.MEASURES)
        raise UsageError(f"nltk has no {measure}: take {measures}, or --convention clean")
    elif by_content and not ic:
        raise UsageError(f"nltk has no counts of its own for {measure}: give --ic FILE")
    elif ic and not by_content:
        raise UsageError(f"{measure} takes no information content: leave out --ic")


def _categories(wordnet: wn.WordNet, mapping: Mapping, by: str) -> list[int]:
    return [find(wordnet, name, by, mapping.path, mapping.lines[name]) for name in mapping.classes]


def _restricted(wordnet: wn.WordNet, mapping: Mapping, names: str, by: str) -> Mapping:
    """Return the mapping with these categories only: PASCAL VOC's names, or labels."""
    chosen: dict[int, str] = {}
    for name in (text.strip() for text in names.split(",")):
        chosen[find(wordnet, PASCAL[name][0] if name in PASCAL else name, by)] = name
    by_synset = dict(zip(_categories(wordnet, mapping, by), mapping.classes.items(), strict=True))
    if missing := [name for synset, name in chosen.items() if synset not in by_synset]:
        raise BadInput(
            f"no row maps a class to {', '.join(missing)}",
            mapping.path,
            None,
            "add rows, or give --categories that the mapping has",
        )
    return replace(mapping, classes=dict(by_synset[synset] for synset in chosen))


def _instances(wordnet: wn.WordNet, synsets: list[int]) -> dict[str, list[str]]:
    """The key `instances` with the wnids of those that are instances; nothing where none is."""
    instances = similarities.instances(wordnet, synsets)
    return {"instances": instances} if instances else {}


def _settings(measure: str, convention: str, by: str) -> dict[str, str]:
    chosen = {"measure": measure, "convention": convention, "by": by}
    return chosen | ({"note": NOTE} if measure.startswith("vector") else {})

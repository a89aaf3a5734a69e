"""`manage.py wordnet`: distances and similarities from WordNet 3.0."""

from dataclasses import dataclass, replace
from pathlib import Path

from evaluation.management.named_files import named_files
from evaluation.metrics.wordnet import nltk_similarity, similarity_criteria
from evaluation.metrics.wordnet import nouns as wn
from evaluation.metrics.wordnet import similarity as similarities
from evaluation.metrics.wordnet.distances import DISTANCES, NoPlaceInHierarchy, distance_matrix
from evaluation.metrics.wordnet.embeddings import BY
from evaluation.metrics.wordnet.gloss_vectors import NOTE
from evaluation.readers import content_files, embedding_files, label_sets
from evaluation.readers.class_files import load_wordnet
from evaluation.readers.mappings import Mapping, places_in, read_mapping
from evaluation.readers.pools import read_classes
from evaluation.readers.shipped import PASCAL, PPS_12, classes_file, mapping_file
from labeling.bounded_numbers import whole
from labeling.files import BadInput
from labeling.management.contract import ContractCommand, UsageError, verb
from labeling.management.options import argument, option
from labeling.management.printing import table
from labeling.plurals import count_of

NAME_A_CLASS = "name a class, not an instance"


@dataclass(kw_only=True)
class SimilarityOptions:
    """The options that choose how a similarity is computed."""

    convention: str = option(
        "how the similarity is computed (clean)", "clean", choices=similarities.CONVENTIONS
    )
    by: str = option(
        "word: the first noun sense of a word, or of a class's first lemma",
        "wnid",
        choices=similarities.BY,
    )


@dataclass(kw_only=True)
class PairOptions:
    a: str = argument("a wnid, dog.n.01, or a lemma of one sense")
    b: str = argument("another label")


@dataclass(kw_only=True)
class MeasureOptions(SimilarityOptions):
    measure: str = option("how alike two classes are (wup)", "wup", choices=similarities.MEASURES)


@dataclass(kw_only=True)
class PairSimilarityOptions(PairOptions, MeasureOptions):
    convention: str = option(
        "how it is computed (clean)",
        "clean",
        choices=(*similarities.CONVENTIONS, nltk_similarity.CONVENTION),
    )
    ic: Path | None = option(
        "counts of WordNet::Similarity, for res, lin and jcn of --convention nltk", metavar="FILE"
    )


@dataclass(kw_only=True)
class CriteriaOptions(MeasureOptions):
    mapping: Path = option(
        "category,wnid rows; pascal: ours, to ILSVRC's classes",
        type=mapping_file,
        metavar="mapping.csv",
    )
    pool: Path = option(
        "all classes, a wnid per line; ilsvrc: the 1000 of ILSVRC 2012",
        type=classes_file,
        metavar="wnids.txt",
    )
    categories: str | None = option(
        "only these of the mapping; without a value the paper's 12 (PPS-12)",
        nargs="?",
        const=",".join(PPS_12),
        metavar="A,B,…",
    )


@dataclass(kw_only=True)
class NearOptions:
    labels: str = argument(
        "a file with a wnid per line, ilsvrc, or one label: a wnid, dog.n.01, a lemma",
        metavar="SEED",
    )
    hops: int = option("up or down", type=whole(), metavar="N")
    among: Path | None = option(
        "only labels of this list, a wnid per line", type=classes_file, metavar="WNIDS"
    )


@dataclass(kw_only=True)
class SetsOptions:
    labels: list[str] = argument("valid labels, a wnid per line", nargs="+", metavar="[NAME=]WNIDS")
    true: Path | None = option("labels to average over; else the valid ones", metavar="WNIDS")


@dataclass(kw_only=True)
class VectorOptions:
    terms: Path = option("vectors of terms: an .npz of terms and vectors, or a .csv")
    labels: Path = option("a wnid per line")
    out: Path = option("the file that is written")


@dataclass(kw_only=True)
class NearestOptions(VectorOptions):
    vectors: Path = option("an .npy, a row per image")
    images: Path = option("an image id a line")
    k: int = option("so many predictions an image", 20, type=whole(1), flag="-k")
    nearest: int | None = option(
        "so many terms are looked at; else 4 k", type=whole(1), metavar="N"
    )


@dataclass(kw_only=True)
class EmbedOptions(VectorOptions):
    by: str = option("which term of a label, or the mean of all", "first", choices=BY)
    seed: int = option("of --by random (0)", 0, type=whole())


def find(
    wordnet: wn.WordNet,
    label: str,
    by: str = "wnid",
    file: Path | None = None,
    line: int | None = None,
) -> int:
    """Return the synset of a label. Raises BadInput that lists a label's meanings."""
    try:
        return similarities.meant(wordnet, label, by)
    except wn.UnknownLabel as error:
        cure = "give one of these wnids" if error.candidates else "give a wnid such as n02084071"
        if error.candidates and file:
            cure += ", or take first senses with --by word"
        raise BadInput(str(error), file, line, cure) from error


def show_labels(result: label_sets.NearLabels) -> str:
    """Return a line per label with its words, then the number of labels."""
    wordnet = load_wordnet()
    rows = [(wnid, ", ".join(wordnet.lemmas(wordnet.index(wnid)))) for wnid in result.labels]
    within = f"{count_of(result.count, 'label')} within {count_of(result.hops, 'hop')}"
    return "\n\n".join(filter(None, [table(rows), f"{within}, {result.of_the_seed} given"]))


def show_sizes(result: label_sets.SizeTable) -> str:
    """Return a table with a row per set of labels and a column per k."""
    rows = [
        (row.name, row.labels, *(round(x, 2) for x in row.mean_correct_set_size.values()))
        for row in result.rows
    ]
    ks = [f"k = {k}" for k in result.rows[0].mean_correct_set_size]
    return f"{table(rows, head=('valid labels', 'labels', *ks))}\n\n{result.hierarchy}"


class Command(ContractCommand):
    help = "Distances and similarities of labels, from WordNet 3.0."

    @verb("the labels some hops from those of a list", show=show_labels)
    def near(self, options: NearOptions) -> label_sets.NearLabels:
        """Return the zero-shot label sets of DeViSE."""
        wordnet, path = load_wordnet(), classes_file(options.labels)
        if path.exists() or len(path.parts) > 1 or path.suffix == ".txt":
            seed = [wordnet.index(wnid) for wnid in read_classes(path, wordnet)]
        else:
            seed = [find(wordnet, options.labels)]
        return label_sets.near(wordnet, seed, options.hops, options.among)

    @verb("how large hCorrectSets are", show=show_sizes)
    def correct_sets(self, options: SetsOptions) -> label_sets.SizeTable:
        """Return Table 1 of DeViSE's appendix."""
        return label_sets.correct_set_sizes(
            load_wordnet(), named_files(options.labels), options.true
        )

    @verb("predictions from vectors of images and of terms")
    def nearest(self, options: NearestOptions) -> embedding_files.PredictedLabels:
        """Write predictions.csv for `score classification`."""
        return embedding_files.predict(
            load_wordnet(),
            options.terms,
            options.vectors,
            options.images,
            options.labels,
            options.out,
            options.k,
            options.nearest,
        )

    @verb("the vectors that labels are trained towards")
    def embed(self, options: EmbedOptions) -> embedding_files.Embedded:
        """Write a row for each label, in the order of the list."""
        return embedding_files.embed(
            load_wordnet(), options.terms, options.labels, options.out, options.by, options.seed
        )

    @verb("how far apart two labels lie")
    def distance(self, options: PairOptions) -> dict[str, object]:
        """Return the distances of MAD and the lowest height of a common ancestor."""
        wordnet = load_wordnet()
        pair = [find(wordnet, options.a), find(wordnet, options.b)]
        result: dict[str, object] = {}
        try:
            for name in DISTANCES:
                if name != "zero-one":
                    value = float(distance_matrix(wordnet, pair, name)[0, 1])
                    whole = name.startswith("hops")
                    result[name.replace("-", "_")] = int(value) if whole else value
            result["ancestor_height"] = wordnet.ancestor_height(*pair)
        except NoPlaceInHierarchy as error:
            raise BadInput(str(error), cure=NAME_A_CLASS) from error
        return result

    @verb("how alike two labels are")
    def similarity(self, options: PairSimilarityOptions) -> dict[str, object]:
        """Return the similarity of two labels and their common ancestor."""
        measure, convention, by, ic = options.measure, options.convention, options.by, options.ic
        _check_convention(measure, convention, ic)
        wordnet = load_wordnet()
        first, second = find(wordnet, options.a, by), find(wordnet, options.b, by)
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

    @verb("how well a measure fits a mapping of classes")
    def criteria(self, options: CriteriaOptions) -> dict[str, object]:
        """Return both criteria of Sarvadevabhatla et al. (2016), Supplement B."""
        measure, convention, by = options.measure, options.convention, options.by
        wordnet, pool = load_wordnet(), options.pool
        mapped = read_mapping(options.mapping, wordnet)
        if options.categories is not None:
            mapped = _restricted(wordnet, mapped, options.categories, by)
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


def _check_convention(measure: str, convention: str, ic: Path | None) -> None:
    """Raise UsageError for a measure that nltk lacks, and for --ic missing or out of place."""
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
    """Return the mapping with only these categories: names of PASCAL VOC, or labels."""
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
    """Return the key `instances` with the wnids that are instances; empty where none is."""
    instances = similarities.instances(wordnet, synsets)
    return {"instances": instances} if instances else {}


def _settings(measure: str, convention: str, by: str) -> dict[str, str]:
    chosen = {"measure": measure, "convention": convention, "by": by}
    return chosen | ({"note": NOTE} if measure.startswith("vector") else {})

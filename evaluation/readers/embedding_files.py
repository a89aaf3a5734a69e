"""Read vectors of terms and images, and write predictions or targets from them. No Django.

Source: Frome et al. (2013), DeViSE, appendix A.2.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.ilsvrc import hpk
from evaluation.metrics.wordnet.embeddings import label_vectors, nearest_labels, term_labels
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.answers import NO_ARRAY
from evaluation.readers.pools import read_classes
from labeling.files import BadInput, atomic_write, require_file, text_lines
from labeling.plurals import count_of
from labeling.records import Record

MAX_RANKS = 10_000
FORM = "give an .npz with terms (T,) and vectors (T, D), or a .csv of term,number,number,…"


@dataclass(frozen=True)
class Terms:
    """T distinct terms and their vectors (T, D), none of them zero."""

    names: list[str]
    vectors: NDArray[np.float64]


def read_terms(path: Path) -> Terms:
    """Return the vectors of terms, from .npz or .csv without a header.

    Raises BadInput, with the line of a .csv or with the term, for an empty or repeated term, and
    for a vector of another length, of zeros, or with a value that is not finite.
    """
    require_file(path, FORM)
    names, vectors = _npz_terms(path) if path.suffix == ".npz" else _csv_terms(path)
    if not names or not vectors.shape[1]:
        raise BadInput("there are no terms", path, None, FORM)
    first: dict[str, int] = {}
    usable = _directed(vectors)
    for index, name in enumerate(names):
        line = index + 1 if path.suffix != ".npz" else None
        if not name.strip():
            raise BadInput(f"term {index + 1} is empty", path, line, "name the term")
        if name in first:
            raise BadInput(f"the term {name!r} is repeated", path, line, "keep one vector of it")
        if not usable[index]:
            problem = f"the vector of {name!r} is zero or not finite"
            raise BadInput(problem, path, line, "it has no direction: remove the term")
        first[name] = index
    return Terms(names, vectors)


def read_vectors(path: Path) -> NDArray[np.floating]:
    """Return (N, D) vectors of images from an .npy of floats.

    Raises BadInput for another shape or type, and for a row that is zero or not finite.
    """
    require_file(path, "give an .npy of floats, a row per image")
    try:
        vectors: NDArray[np.floating] = np.load(path, mmap_mode="r", allow_pickle=False)
    except NO_ARRAY:
        raise BadInput("is not a .npy", path, None, "save it with numpy.save") from None
    if not isinstance(vectors, np.ndarray) or vectors.ndim != 2 or vectors.dtype.kind != "f":
        raise BadInput("has no table of floats", path, None, "save (N, D) floats, a row per image")
    usable = _directed(vectors)
    if not usable.all():
        problem = f"row {int(np.argmin(usable)) + 1} is zero or not finite"
        raise BadInput(problem, path, None, "every image needs a direction")
    return vectors


@dataclass(kw_only=True)
class PredictedLabels(Record):
    """The result of `predict`. short: images with fewer than k predictions. nearest: number of
    terms that were compared.
    """

    images: int
    predictions: int
    short: int
    terms: int
    terms_of_no_label: int
    labels: int
    labels_of_no_term: int
    k: int
    nearest: int
    out: str


@dataclass(kw_only=True)
class Embedded(Record):
    """The result of `embed`. without_vector: the labels whose rows are NaN."""

    labels: int
    without_vector: list[str]
    by: str
    seed: int | None
    out: str


def predict(
    wordnet: WordNet,
    terms: Path,
    vectors: Path,
    images: Path,
    labels: Path,
    out: Path,
    k: int = max(hpk.KS),
    nearest: int | None = None,
) -> PredictedLabels:
    """Write `image,rank,wnid` rows: the labels of the terms nearest to each image.

    images: an id a line, as many as vectors; labels: wnids that may be predicted; nearest: number
    of terms to compare, by default 4 k. Raises BadInput.
    """
    if k > MAX_RANKS:
        raise BadInput(f"k is {k}", cure=f"take at most {MAX_RANKS:,}, nothing beyond is scored")
    known, queries = read_terms(terms), read_vectors(vectors)
    if queries.shape[1] != known.vectors.shape[1]:
        problem = f"has {queries.shape[1]} numbers a row, {terms} has {known.vectors.shape[1]}"
        raise BadInput(problem, vectors, None, "both are points of one space")
    names = _images(images, len(queries), vectors)
    wnids = read_classes(labels, wordnet)
    labels_of_term = term_labels(wordnet, known.names, [wordnet.index(wnid) for wnid in wnids])
    predicted = nearest_labels(queries, known.vectors, labels_of_term, k, nearest)
    with atomic_write(out) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("image", "rank", "wnid"))
        for image, row in zip(names, predicted.tolist(), strict=True):
            writer.writerows((image, i, wnids[n]) for i, n in enumerate(row, 1) if n >= 0)
    reached = {n for numbers in labels_of_term for n in numbers}
    return PredictedLabels(
        images=len(names),
        predictions=int((predicted >= 0).sum()),
        short=int((predicted < 0).any(axis=1).sum()),
        terms=len(known.names),
        terms_of_no_label=sum(not numbers for numbers in labels_of_term),
        labels=len(wnids),
        labels_of_no_term=len(wnids) - len(reached),
        k=k,
        nearest=min(4 * k if nearest is None else nearest, len(known.names)),
        out=str(out),
    )


def embed(
    wordnet: WordNet, terms: Path, labels: Path, out: Path, by: str = "first", seed: int = 0
) -> Embedded:
    """Write an .npy (V, D) with the target vector of each label.

    Rows of labels without any vector are NaN; the result lists them.
    """
    known = read_terms(terms)
    wnids = read_classes(labels, wordnet)
    label_rows = label_vectors(
        wordnet,
        [wordnet.index(wnid) for wnid in wnids],
        dict(zip(known.names, known.vectors, strict=True)),
        by,
        np.random.default_rng(seed),
    )
    with atomic_write(out, "wb") as file:
        np.save(file, label_rows, allow_pickle=False)
    bare = [bool(np.isnan(row).any()) for row in label_rows]
    return Embedded(
        labels=len(wnids),
        without_vector=[wnid for wnid, none in zip(wnids, bare, strict=True) if none],
        by=by,
        seed=seed if by == "random" else None,
        out=str(out),
    )


def _directed(vectors: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return (N,) whether a row has a direction: its length is finite and not 0."""
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64, casting="unsafe")
    has_direction: NDArray[np.bool_] = np.isfinite(squares) & (squares > 0)
    return has_direction


def _images(path: Path, count: int, vectors: Path) -> list[str]:
    require_file(path, "list an image a line, in the order of the vectors")
    names = text_lines(path)
    first: dict[str, int] = {}
    for line, name in enumerate(names, 1):
        if not name.strip() or name in first:
            problem = f"image {name!r} is repeated" if name.strip() else "the line is empty"
            raise BadInput(problem, path, line, "list every image once")
        first[name] = line
    if len(names) != count:
        problem = f"has {count_of(len(names), 'image')}, {vectors} has {count_of(count, 'row')}"
        raise BadInput(problem, path, None, "list an image for each row")
    return names


def _npz_terms(path: Path) -> tuple[list[str], NDArray[np.float64]]:
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as kept:
            names, vectors = kept["terms"], kept["vectors"]
    except NO_ARRAY:
        raise BadInput("has no terms and vectors", path, None, FORM) from None
    good = names.ndim == 1 and names.dtype.kind == "U" and vectors.dtype.kind == "f"
    if not good or vectors.ndim != 2 or len(names) != len(vectors):
        problem = f"terms are {names.dtype} {names.shape}, vectors {vectors.dtype} {vectors.shape}"
        raise BadInput(problem, path, None, FORM)
    return names.tolist(), vectors.astype(np.float64)


def _csv_terms(path: Path) -> tuple[list[str], NDArray[np.float64]]:
    names: list[str] = []
    vectors: list[list[float]] = []
    reader = csv.reader(text_lines(path), strict=True)
    try:
        for line, (name, *cells) in enumerate(filter(None, reader), 1):
            names.append(name)
            vectors.append([float(cell) for cell in cells])
            if not cells or len(vectors[-1]) != len(vectors[0]):
                problem = f"{name!r} has {len(cells)} numbers, the first term {len(vectors[0])}"
                raise BadInput(problem, path, line, "give every term one vector")
    except ValueError:
        problem = f"the vector of {names[-1]!r} has a value that is not a number"
        raise BadInput(problem, path, reader.line_num, FORM) from None
    except csv.Error as error:
        raise BadInput(f"is not CSV ({error})", path, reader.line_num, FORM) from None
    return names, np.array(vectors, np.float64)

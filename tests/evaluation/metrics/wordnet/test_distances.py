"""MAD's distances, worked on paper and by plain walks over the graph."""

import heapq
import itertools
from pathlib import Path

import numpy as np
import pytest

from evaluation.metrics.wordnet.distances import DISTANCES, NoPlaceInHierarchy, distance_matrix

ILSVRC = Path(__file__).resolve().parents[5] / "shared" / "data" / "imagenet_synsets.txt"


def distance_of(wordnet, a: str, b: str, distance: str) -> float:
    pair = [wordnet.find(a), wordnet.find(b)]
    return float(distance_matrix(wordnet, pair, distance)[0, 1])


def up_then_down(wordnet, a: int, b: int, weighted: bool) -> float:
    """By the definition: every pair of root paths, every edge below the common prefix."""
    best = float("inf")
    for one_path, second_path in itertools.product(wordnet.root_paths(a), wordnet.root_paths(b)):
        common = 0
        while (
            common < min(len(one_path), len(second_path))
            and one_path[common] == second_path[common]
        ):
            common += 1
        edges = [*range(common - 1, len(one_path) - 1), *range(common - 1, len(second_path) - 1)]
        best = min(best, sum(2.0**-depth if weighted else 1 for depth in edges))
    return best


def shortest(wordnet, a: int, weighted: bool) -> dict[int, float]:
    """Dijkstra from one synset over the whole hypernym graph."""
    queue, done = [(0.0, a)], {}
    while queue:
        length, node = heapq.heappop(queue)
        if node in done:
            continue
        done[node] = length
        for upper, neighbour in [
            *((parent, parent) for parent in wordnet.hypernyms(node)),
            *((node, child) for child in wordnet.hyponyms(node)),
        ]:
            step = 2.0 ** -int(wordnet.depth[upper]) if weighted else 1.0
            heapq.heappush(queue, (length + step, neighbour))
    return done


def test_drake_and_american_coot_are_as_far_apart_as_the_paper_has_it(wordnet):
    assert distance_of(wordnet, "n01847000", "n02018207", "weighted") == 0.003662109375
    assert distance_of(wordnet, "n01847000", "n02018207", "hops") == 8


def test_fountain_and_church_are_as_far_apart_as_the_paper_has_it(wordnet):
    assert round(distance_of(wordnet, "n03388043", "n03028079", "weighted"), 4) == 0.0859


def test_the_true_shortest_path_goes_down_through_shared_descendants(wordnet):
    lipstick, bubble = "n03676483", "n09229709"

    assert round(distance_of(wordnet, lipstick, bubble, "weighted"), 2) == 3.99
    assert round(distance_of(wordnet, lipstick, bubble, "weighted-undirected"), 2) == 0.05


def some_classes(wordnet, count: int) -> list[int]:
    """Seeded synsets, the root, a parent with its child, and one of many root paths."""
    rng = np.random.default_rng(2)
    classes = rng.choice(np.flatnonzero(wordnet.depth >= 0), count, replace=False).tolist()
    dog = wordnet.find("dog.n.01")
    return [
        *classes,
        wordnet.find("entity"),
        dog,
        wordnet.hyponyms(dog)[0],
        wordnet.find("person.n.01"),
    ]


@pytest.mark.parametrize("distance", ["weighted", "hops"])
def test_up_then_down_is_the_least_over_pairs_of_root_paths(wordnet, distance):
    classes = some_classes(wordnet, 40)

    matrix = distance_matrix(wordnet, classes, distance)

    for i, j in itertools.combinations(range(len(classes)), 2):
        assert matrix[i, j] == up_then_down(wordnet, classes[i], classes[j], distance == "weighted")
    assert (matrix == matrix.T).all()
    assert not np.diag(matrix).any()


@pytest.mark.ci
@pytest.mark.parametrize("distance", ["weighted-undirected", "hops-undirected"])
def test_undirected_is_the_shortest_path_in_the_graph(wordnet, distance):
    classes = some_classes(wordnet, 40)

    matrix = distance_matrix(wordnet, classes, distance)

    for i in range(0, len(classes), 11):
        lengths = shortest(wordnet, classes[i], distance.startswith("weighted"))
        assert matrix[i].tolist() == [lengths[index] for index in classes]
    assert (matrix == matrix.T).all()
    assert not np.diag(matrix).any()


def test_no_classes_and_one_class_give_matrices_of_that_size(wordnet):
    for distance in DISTANCES:
        assert distance_matrix(wordnet, [], distance).shape == (0, 0), distance
        assert distance_matrix(wordnet, [5], distance).tolist() == [[0]], distance


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_matrix_does_not_depend_on_how_it_is_cut_into_blocks(wordnet, distance, monkeypatch):
    classes = np.flatnonzero(wordnet.depth >= 8)[:60].tolist()
    whole = distance_matrix(wordnet, classes, distance)
    monkeypatch.setattr("evaluation.metrics.wordnet.distances._BLOCK", 1)

    assert (distance_matrix(wordnet, classes, distance) == whole).all()


def test_an_instance_has_no_place_except_for_zero_one(wordnet):
    paris = wordnet.find("Paris.n.01")

    assert distance_matrix(wordnet, [paris, 0], "zero-one")[0, 1] == 1
    for distance in DISTANCES[:-1]:
        with pytest.raises(NoPlaceInHierarchy, match="instance"):
            distance_matrix(wordnet, [paris, 0], distance)


def test_another_distance_is_refused(wordnet):
    with pytest.raises(ValueError, match="expected one of"):
        distance_matrix(wordnet, [], "cosine")


def test_304_ilsvrc_classes_have_several_root_paths(wordnet):
    if not ILSVRC.exists():
        pytest.skip("the list of ILSVRC classes is not beside the checkout")
    classes = [wordnet.index(wnid) for wnid in ILSVRC.read_text().split()]

    assert sum(len(wordnet.root_paths(index)) > 1 for index in classes) == 304

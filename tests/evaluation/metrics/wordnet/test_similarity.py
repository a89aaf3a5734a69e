"""Similarities of classes: known answers, plain loops over definitions, nltk where it agrees."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.metrics.wordnet import similarity as s
from evaluation.metrics.wordnet.information_content import (
    information_content,
    sense_counts,
    tagged_word_count,
)
from evaluation.metrics.wordnet.nouns import UnknownLabel, WordNet, WordNetMissing

ILSVRC = Path(__file__).resolve().parents[5] / "shared" / "data" / "imagenet_synsets.txt"
BY_HIERARCHY = ("wup", "path", "lch", "res", "lin", "jcn")


def similarity_of(
    wordnet, a: str, b: str, measure: str = "wup", convention: str = "clean"
) -> float:
    pair = [wordnet.find(a)], [wordnet.find(b)]
    return float(s.similarity_matrix(wordnet, *pair, measure, convention)[0, 0])


def ilsvrc(wordnet) -> list[int]:
    if not ILSVRC.exists():
        pytest.skip("the list of ILSVRC classes is not beside the checkout")
    return [wordnet.index(wnid) for wnid in ILSVRC.read_text().split()]


def some_classes(wordnet, count: int = 25) -> list[int]:
    """Seeded synsets of many root paths and of any, the root, a parent and child, an instance."""
    rng = np.random.default_rng(3)
    several = [i for i in range(0, len(wordnet), 41) if len(wordnet.root_paths(i)) > 2]
    labels = ("entity", "dog.n.01", "puppy.n.01", "person.n.01", "cat.n.01", "paris.n.01")
    return [
        *rng.choice(several, count, replace=False).tolist(),
        *rng.choice(np.flatnonzero(wordnet.depth >= 0), count, replace=False).tolist(),
        *map(wordnet.find, labels),
    ]


def up(wordnet, index: int) -> list[int]:
    """Hypernyms and, of an instance, its classes, by a plain reading of the synset's line."""
    return wordnet.linked(index, ("@", "@i"))


class Plain:
    """The definitions, one pair at a time. Paths go down from a top; wnsim puts −1 above each."""

    def __init__(self, wordnet: WordNet, convention: str) -> None:
        self.wordnet, self.virtual = wordnet, convention == "wnsim"
        self.content = information_content(wordnet, convention)
        self.known: dict[int, list[tuple[int, ...]]] = {}

    def paths(self, index: int) -> list[tuple[int, ...]]:
        if index not in self.known:
            top = [(-1,)] if self.virtual and index != -1 else [()]
            above = [] if index == -1 else up(self.wordnet, index)
            below = [path for parent in above for path in self.paths(parent)] or top
            self.known[index] = [(*path, index) for path in below]
        return self.known[index]

    def depth(self, index: int) -> int:
        return max(map(len, self.paths(index)))

    def edges_up(self, index: int, ancestor: int) -> int:
        return min(
            len(path) - 1 - path.index(ancestor) for path in self.paths(index) if ancestor in path
        )

    def common(self, a: int, b: int) -> set[int]:
        return {i for path in self.paths(a) for i in path} & {
            i for path in self.paths(b) for i in path
        }

    def way(self, a: int, b: int) -> int:
        """Edges of the shortest way over any common ancestor."""
        return min(self.edges_up(a, i) + self.edges_up(b, i) for i in self.common(a, b))

    def wup(self, a: int, b: int) -> float:
        candidates = self.common(a, b)
        edges = self.edges_up
        if self.virtual:
            # The lowest common synset of each pair of paths.
            candidates = {
                max(set(first_path) & set(second_path), key=first_path.index)
                for first_path, second_path in itertools.product(self.paths(a), self.paths(b))
            }
            edges = self.way
        depths = [
            (d := self.depth(i), 2 * d / (2 * d + edges(a, i) + edges(b, i))) for i in candidates
        ]
        return max(depths)[1] if depths else 0.0

    def path(self, a: int, b: int) -> float:
        return 1 / (self.way(a, b) + 1) if self.common(a, b) else 0.0

    def lch(self, a: int, b: int) -> float:
        longest = 40 if self.virtual else 38
        return math.log(longest / (self.way(a, b) + 1)) if self.common(a, b) else 0.0

    def res(self, a: int, b: int) -> float:
        common = self.common(a, b) - {-1}
        return max((self.content[i] for i in common if self.content[i] > 0), default=0.0)

    def of_content(self, a: int, b: int, measure: str) -> float:
        first, second, shared = self.content[a], self.content[b], self.res(a, b)
        if not self.common(a, b) or math.isnan(first + second):
            return 0.0
        if self.virtual and not first * second:
            return 0.0
        if measure == "lin":
            return 2 * shared / (first + second) if first + second else 1.0
        distance = first + second - 2 * shared
        if distance > 0:
            return 1 / distance
        words = tagged_word_count(self.wordnet, "wnsim")
        return -1 / math.log((words - 0.01) / words) if self.virtual else math.inf

    def lin(self, a: int, b: int) -> float:
        return self.of_content(a, b, "lin")

    def jcn(self, a: int, b: int) -> float:
        return self.of_content(a, b, "jcn")


def test_dog_and_cat_are_as_alike_as_is_known(wordnet):
    assert similarity_of(wordnet, "dog.n.01", "cat.n.01") == pytest.approx(
        0.857142857142857, abs=1e-15
    )
    assert similarity_of(wordnet, "dog.n.01", "cat.n.01", "wup", "wnsim") == pytest.approx(
        0.866666666666667, abs=1e-15
    )
    # As nltk's documentation prints them.
    assert similarity_of(wordnet, "dog.n.01", "cat.n.01", "path") == 0.2
    assert similarity_of(wordnet, "dog.n.01", "cat.n.01", "lch") == pytest.approx(
        2.0281482472922856
    )
    # From SemCor's own counts it prints 0.886; WordNet's lists hold nearly the same texts.
    assert similarity_of(wordnet, "dog.n.01", "cat.n.01", "lin", "wnsim") == pytest.approx(
        0.886, abs=5e-4
    )


def test_entity_is_one_deep_and_two_under_the_virtual_root(wordnet):
    # puppy: 9 edges below entity by its shortest path.
    edges = int(wordnet.depth[wordnet.find("puppy.n.01")])

    assert similarity_of(wordnet, "entity", "puppy.n.01") == 2 / (2 + edges)
    assert similarity_of(wordnet, "entity", "puppy.n.01", "wup", "wnsim") == 4 / (4 + edges)


@pytest.mark.parametrize("convention", s.CONVENTIONS)
@pytest.mark.parametrize("measure", BY_HIERARCHY)
def test_a_matrix_is_what_the_definition_gives_pair_by_pair(wordnet, measure, convention):
    classes = some_classes(wordnet)
    plain = Plain(wordnet, convention)

    matrix = s.similarity_matrix(wordnet, classes, None, measure, convention)

    for i, j in itertools.product(range(len(classes)), repeat=2):
        assert matrix[i, j] == pytest.approx(
            getattr(plain, measure)(classes[i], classes[j]), rel=1e-12
        ), (wordnet.name(classes[i]), wordnet.name(classes[j]))


@pytest.mark.parametrize("convention", s.CONVENTIONS)
def test_wup_of_ilsvrcs_classes_is_exactly_the_plain_loop(wordnet, convention):
    classes = ilsvrc(wordnet)
    plain = Plain(wordnet, convention)

    matrix = s.similarity_matrix(wordnet, classes, None, "wup", convention)

    rng = np.random.default_rng(4)
    for i, j in rng.integers(0, len(classes), (400, 2)).tolist():
        assert matrix[i, j] == plain.wup(classes[i], classes[j])


def test_any_way_over_what_lies_higher_makes_wnsims_wup_larger_for_some(wordnet):
    plain = Plain(wordnet, "wnsim")
    rng = np.random.default_rng(5)
    several = [i for i in range(len(wordnet)) if len(wordnet.hypernyms(i)) > 1]
    shorter = 0
    for index in rng.choice(several, 300, replace=False).tolist():
        above = plain.common(index, index)
        for ancestor in above - {index, -1}:
            shorter += plain.way(index, ancestor) < plain.edges_up(index, ancestor)

    assert shorter > 0


@pytest.mark.parametrize("convention", s.CONVENTIONS)
@pytest.mark.parametrize("measure", BY_HIERARCHY)
def test_the_named_ancestor_is_the_one_that_the_value_comes_from(wordnet, measure, convention):
    classes = some_classes(wordnet, 12)
    plain = Plain(wordnet, convention)

    ancestors = s.ancestor_matrix(wordnet, classes, None, measure, convention)

    assert (ancestors == ancestors.T).all()
    for i, j in itertools.product(range(len(classes)), repeat=2):
        a, b, ancestor = classes[i], classes[j], int(ancestors[i, j])
        common = plain.common(a, b)
        if ancestor == -1:
            assert common <= {-1}
            continue
        assert ancestor in common
        if measure == "wup":
            assert plain.depth(ancestor) == max(map(plain.depth, common))
        elif measure in ("path", "lch"):
            assert plain.edges_up(a, ancestor) + plain.edges_up(b, ancestor) == plain.way(a, b)
        else:
            assert max(np.nan_to_num(plain.content[ancestor]), 0) == plain.res(a, b)


def test_rows_and_columns_may_differ_repeat_and_come_in_any_order(wordnet):
    classes = some_classes(wordnet)
    rows, columns = classes[::3] + classes[:2], classes[::-2] + classes[-2:]
    index_of = {index: i for i, index in enumerate(classes)}
    for measure in BY_HIERARCHY:
        whole = s.similarity_matrix(wordnet, classes, None, measure)
        part = s.similarity_matrix(wordnet, rows, columns, measure)
        np.testing.assert_array_equal(
            part, whole[np.ix_([index_of[i] for i in rows], [index_of[i] for i in columns])]
        )


def test_nothing_gives_an_empty_matrix(wordnet):
    for measure in s.MEASURES:
        assert s.similarity_matrix(wordnet, [], [3], measure).shape == (0, 1), measure
        assert s.similarity_matrix(wordnet, [3], [], measure).shape == (1, 0), measure
        assert s.ancestor_matrix(wordnet, [], [3], measure).shape == (0, 1), measure


def test_an_instance_lies_below_its_class(wordnet):
    # Chihuahua, of Mexico, and dog: 13 edges over object, 3 deep (4 under the virtual root).
    assert similarity_of(wordnet, "dog.n.01", "chihuahua.n.01") == 6 / 19
    assert similarity_of(wordnet, "dog.n.01", "chihuahua.n.01", "wup", "wnsim") == 8 / 21
    for convention in s.CONVENTIONS:
        assert similarity_of(wordnet, "dog.n.01", "chihuahua.n.01", "path", convention) == 1 / 14
        assert similarity_of(wordnet, "paris.n.01", "paris.n.01", "wup", convention) == 1
        assert (
            similarity_of(wordnet, "paris.n.01", "national_capital.n.01", "path", convention)
            == 1 / 2
        )
        # Counts climb over instance links: what is said of Paris is said of a capital.
        content = information_content(wordnet, convention)
        paris, capital = (content[wordnet.find(f"{x}.n.01")] for x in ("paris", "national_capital"))
        assert 0 < capital < paris


def test_instances_are_named_once_and_in_order(wordnet):
    labels = ("paris.n.01", "dog.n.01", "blighty.n.01", "paris.n.01", "chihuahua.n.01")
    instances = s.instances(wordnet, map(wordnet.find, labels))

    # Blighty is a hypernym's child of an instance, the United Kingdom.
    assert instances == sorted(
        {wordnet.wnid(wordnet.find(label)) for label in labels} - {"n02084071"}
    )


# What the authors of CDS published (imagenet_pascal_res_sim_scores.txt beside their code): for some
# of ILSVRC's classes, by place in its list, the similarities to their categories.
CATEGORIES = (
    "airplane.n.01", "bicycle.n.01", "bus.n.01", "car.n.01", "cat.n.01", "cat.n.01", "cow.n.01",
    "cow.n.02", "dog.n.01", "flying_bird.n.01", "horse.n.01", "person.n.01", "sheep.n.01",
    "train.n.01",
)  # fmt: skip
PUBLISHED = {
    0: "32258 35714 35714 33333 60606 60606 54054 64516 62500 66667 58824 53846 57143 35714",
    4: "41667 47619 47619 43478 53846 53846 46667 58333 66667 60870 51852 76923 50000 47619",
    7: "26087 30000 30000 27273 24000 24000 20690 26087 30000 27273 23077 40000 22222 30000",
    9: "45455 52632 52632 47619 58333 58333 50000 63636 73684 66667 56000 90909 53846 52632",
    17: "40000 45455 45455 41667 51852 51852 45161 56000 63636 58333 50000 71429 48276 45455",
    23: "38462 43478 43478 40000 71429 71429 62500 76923 74074 88000 68966 66667 66667 43478",
    152: "40000 45455 45455 41667 81250 81250 66667 80000 93750 71429 72727 70000 70588 45455",
    171: "41667 47619 47619 43478 76471 76471 63158 75000 88235 74074 68571 73684 66667 47619",
}


class Published(Plain):
    """wup as the published similarities were made: WordNet::Similarity with its own depths.

    Its list of depths has those of all root paths of a synset as text, in the order of text, and
    the first is taken: 14 before 9, which is 14, and 4 before 7, which is 4.
    """

    def depth(self, index: int) -> int:
        return 1 + int(min(str(len(path) - 1) for path in self.paths(index)))


@pytest.mark.ci
def test_13889_of_the_14000_published_similarities_agree(wordnet):
    classes = [s.as_word(wordnet, index) for index in ilsvrc(wordnet)]
    categories = [wordnet.find(name) for name in CATEGORIES]
    published = Published(wordnet, "wnsim")

    ours = s.similarity_matrix(wordnet, categories, classes, "wup", "wnsim")

    theirs = np.array([[published.wup(a, b) for b in classes] for a in categories])
    for column, row in PUBLISHED.items():
        printed = [int(value) / 1e5 for value in row.split()]
        np.testing.assert_allclose(theirs[:, column], printed, atol=6e-6)
    # Where they differ their list of depths has another depth than the longest root path's.
    assert int((np.abs(ours - theirs) < 1e-9).sum()) == 13_889
    instances = [i for i, index in enumerate(classes) if wordnet.is_instance(index)]
    assert len(instances) == 15


def test_another_measure_or_convention_is_refused(wordnet):
    with pytest.raises(ValueError, match="expected one of wup"):
        s.similarity_matrix(wordnet, [1], None, "cosine")
    with pytest.raises(ValueError, match="expected one of clean"):
        s.ancestor_matrix(wordnet, [1], None, "wup", "perl")


pairs = st.tuples(st.integers(0, 82114), st.integers(0, 82114))


@pytest.mark.parametrize("convention", s.CONVENTIONS)
@given(pair=pairs)
def test_both_directions_are_equal_and_nothing_is_more_like_a_class_than_itself(
    wordnet, convention, pair
):
    for measure in BY_HIERARCHY:
        matrix = s.similarity_matrix(wordnet, pair, None, measure, convention)

        assert (matrix == matrix.T).all()
        assert (matrix >= 0).all()
        assert (matrix <= np.diag(matrix)[:, None] + 1e-12).all()
        if measure in ("wup", "path"):
            assert np.diag(matrix).tolist() == [1, 1]


@given(pair=pairs)
def test_wup_is_never_above_1_and_never_below_path(wordnet, pair):
    wup = s.similarity_matrix(wordnet, pair, None)
    path = s.similarity_matrix(wordnet, pair, None, "path")

    assert (wup <= 1).all()
    assert (wup >= path).all()


@pytest.mark.ci
def test_counts_are_those_of_the_index_of_senses(wordnet):
    path = wordnet.folder / "index.sense"
    if not path.exists():
        pytest.skip("this WordNet has no index.sense")
    counts = np.zeros(len(wordnet), np.int64)
    for line in path.read_text().splitlines():
        key, offset, _, times = line.split()
        if key.partition("%")[2].startswith("1:"):
            counts[wordnet.index(f"n{offset}")] += int(times)

    assert (sense_counts(wordnet) == counts).all()


def test_counts_climb_to_each_ancestor_once_or_once_a_path(wordnet):
    counts = sense_counts(wordnet)
    rng = np.random.default_rng(6)
    chosen = [wordnet.find(f"{name}.n.01") for name in ("dog", "animal", "national_capital")]
    deep = np.flatnonzero((wordnet.depth >= 5) & (wordnet.heights >= 1))
    chosen += rng.choice(deep, 20, replace=False).tolist()
    for index in chosen:
        below, rest = {index}, [index]
        while rest:
            children = wordnet.linked(rest.pop(), ("~", "~i"))
            new = [child for child in children if child not in below]
            below.update(new)
            rest.extend(new)
        once = sum(counts[node] for node in below)
        a_path = sum(counts[node] * ways_up(wordnet, node, index) for node in below if counts[node])
        for convention, count in (("clean", once), ("wnsim", a_path)):
            share = count / tagged_word_count(wordnet, convention)
            content = information_content(wordnet, convention)[index]
            expected = -math.log(share) if count else math.nan
            assert content == pytest.approx(expected, nan_ok=True, abs=1e-12)


def ways_up(wordnet, index: int, ancestor: int) -> int:
    if index == ancestor:
        return 1
    return sum(ways_up(wordnet, parent, ancestor) for parent in up(wordnet, index))


def test_768_ilsvrc_classes_have_no_count_and_so_no_lin_and_no_jcn(wordnet):
    classes = ilsvrc(wordnet)
    none = np.isnan(information_content(wordnet)[classes])

    assert int(none.sum()) == 768
    for measure, convention in itertools.product(("lin", "jcn"), s.CONVENTIONS):
        matrix = s.similarity_matrix(wordnet, classes, None, measure, convention)
        assert not matrix[none].any()
        assert not matrix[:, none].any()


def test_a_folder_without_counts_is_refused_with_the_cure(wordnet, tmp_path):
    for name in ("data.noun", "index.noun"):
        (tmp_path / name).symlink_to(wordnet.folder / name)
    bare = WordNet(tmp_path)

    with pytest.raises(WordNetMissing, match=r"cntlist\.rev cannot be read.*make setup"):
        s.similarity_matrix(bare, [3], None, "res")
    for text in ("", "dog%1:05:00::\n", "dog%1:05:00:: 1 many\n", "xyzzy%1:05:00:: 1 7\n"):
        (tmp_path / "cntlist.rev").write_text(text)
        with pytest.raises(WordNetMissing, match=r"cntlist\.rev"):
            s.similarity_matrix(bare, [3], None, "res")


def test_by_word_209_ilsvrc_classes_are_taken_for_another_synset(wordnet):
    classes = ilsvrc(wordnet)

    assert sum(s.as_word(wordnet, index) != index for index in classes) == 209


def test_by_word_a_label_is_the_first_noun_sense(wordnet):
    dolt = wordnet.find("hammerhead.n.01")

    assert s.meant(wordnet, "hammerhead", "word") == dolt
    assert s.meant(wordnet, "n01494475", "word") == dolt
    assert s.meant(wordnet, "Dog", "word") == wordnet.find("dog.n.01")
    assert s.meant(wordnet, "n01494475") != dolt
    for by in s.BY:
        with pytest.raises(UnknownLabel):
            s.meant(wordnet, "xyzzy", by)


@pytest.mark.ci
def test_path_and_lch_are_nltks(wordnet, peer):
    rng = np.random.default_rng(7)
    classes = rng.choice(np.flatnonzero(wordnet.depth >= 0), 20, replace=False).tolist()
    theirs = [peer.synset_from_pos_and_offset("n", int(wordnet.offsets[i])) for i in classes]
    path = s.similarity_matrix(wordnet, classes, None, "path")
    lch = s.similarity_matrix(wordnet, classes, None, "lch")

    for i, j in itertools.combinations(range(len(classes)), 2):
        assert path[i, j] == pytest.approx(theirs[i].path_similarity(theirs[j]))
        assert lch[i, j] == pytest.approx(theirs[i].lch_similarity(theirs[j]))


def test_wup_is_nltks_where_the_hierarchy_above_both_is_a_tree(wordnet, peer):
    rng = np.random.default_rng(8)
    classes = rng.choice(np.flatnonzero(wordnet.depth >= 4), 40, replace=False).tolist()
    single = {i: len(wordnet.root_paths(i)) == 1 for i in classes}
    matrix = s.similarity_matrix(wordnet, classes, None)
    compared = 0
    for i, j in itertools.combinations(range(len(classes)), 2):
        if single[classes[i]] and single[classes[j]]:
            first_synset, second_synset = (
                peer.synset_from_pos_and_offset("n", int(wordnet.offsets[classes[k]]))
                for k in (i, j)
            )
            assert matrix[i, j] == pytest.approx(first_synset.wup_similarity(second_synset))
            compared += 1

    assert compared > 100

"""Lists of classes: overlaps, the basic level, what covers the image, and what to take instead."""

import json

import pytest

from evaluation.collecting import class_lists
from evaluation.metrics.wordnet.basic_level import basic_level
from evaluation.readers.shipped import CLASSES
from labeling.question_graph.graph import shipped

DOG, CAT, DALMATIAN, ANIMAL, ROBIN, BIRD = (
    *("n02084071", "n02121620", "n02110341", "n00015388", "n01558993", "n01503061"),
)
HAY, SHIRT = "n07802026", "n04197391"


def rule(wordnet):
    return class_lists.rule_of(wordnet, None)


@pytest.fixture
def class_list(tmp_path, wordnet):
    def read(*lines: str) -> class_lists.ClassList:
        path = tmp_path / "classes.txt"
        path.write_text("".join(f"{line}\n" for line in lines))
        return class_lists.read(path, wordnet)

    return read


def test_labels_are_read_as_everywhere_and_words_after_a_wnid_passed_over(class_list, wordnet):
    read_list = class_list("# pets", f"{DOG} dog", "", "cat.n.01", "dalmatian.n.02")

    assert [wordnet.wnid(synset) for synset in read_list.synsets] == [DOG, CAT, DALMATIAN]
    assert [*read_list.lines.values()] == [2, 4, 5]


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        (["n02084071", "dog"], 2, "several meanings"),
        (["n02084071", "n00000000"], 2, "not a noun synset"),
        (["paris.n.01"], 1, "is an instance"),
        (["n02084071", "cat.n.01", "dog.n.01"], 3, "is the class of line 1"),
        (["# nothing"], None, "there are no classes"),
    ],
)
def test_a_list_that_cannot_be_read_is_refused_with_its_line(class_list, lines, line, words):
    with pytest.raises(class_lists.BadInput, match=words) as refused:
        class_list(*lines)

    assert refused.value.line == line


def test_every_two_of_which_one_is_above_the_other_are_named(class_list, wordnet):
    checked = class_lists.check(class_list(DOG, DALMATIAN, ANIMAL, CAT), wordnet, rule(wordnet))

    pairs = {(overlap.above.wnid, overlap.below.wnid) for overlap in checked.overlaps}
    assert pairs == {(ANIMAL, DOG), (ANIMAL, DALMATIAN), (ANIMAL, CAT), (DOG, DALMATIAN)}
    assert {overlap.above.line for overlap in checked.overlaps if overlap.above.wnid == ANIMAL} == {
        3
    }
    assert not checked.ok


def test_no_class_of_ilsvrc_is_above_another(wordnet):
    read_list = class_lists.read(CLASSES["ilsvrc"], wordnet)

    assert len(read_list.synsets) == 1000
    assert list(class_lists.overlapping(read_list.synsets, wordnet)) == []


def test_a_class_that_covers_the_image_is_named_with_its_share(class_list, wordnet):
    scales = {HAY: 0.72, CAT: 0.5}

    checked = class_lists.check(class_list(HAY, CAT, DOG), wordnet, rule(wordnet), scales)

    assert [(large_class.wnid, large_class.scale) for large_class in checked.large] == [(HAY, 0.72)]
    assert checked.measured == 2
    assert class_lists.check(class_list(HAY), wordnet, rule(wordnet)).measured is None


@pytest.mark.parametrize(
    ("label", "basic"),
    [
        ("dalmatian.n.02", "dog.n.01"),
        ("robin.n.02", "bird.n.01"),
        ("sports_car.n.01", "car.n.01"),
        ("dog.n.01", "dog.n.01"),
        ("animal.n.01", "animal.n.01"),
    ],
)
def test_the_basic_level_is_what_people_name_most(wordnet, label, basic):
    assert wordnet.name(basic_level(wordnet, wordnet.find(label))) == basic


def test_how_often_it_is_what_the_authors_of_ilsvrc_chose(wordnet):
    """What docs/how-to/images.md says of the 483 classes that are one of the 200 or below one."""
    graph = shipped("ilsvrc")
    chosen = {wordnet.index(graph.node(leaf).key) for leaf in graph.leaves}
    merged, kept = [], []
    for synset in class_lists.read(CLASSES["ilsvrc"], wordnet).synsets:
        if above := wordnet.ancestors(synset) & chosen:
            right = basic_level(wordnet, synset) in above
            (kept if synset in above else merged).append(right)

    assert (sum(merged), len(merged)) == (238, 333)
    assert (sum(kept), len(kept)) == (92, 150)


def test_a_list_of_ones_own_says_what_is_basic(class_list, wordnet, tmp_path):
    path = tmp_path / "basic.txt"
    path.write_text(f"{ANIMAL}\n{BIRD}\n")
    basic_rule = class_lists.rule_of(wordnet, class_lists.read(path, wordnet))

    checked = class_lists.check(class_list(ROBIN, DOG, SHIRT), wordnet, basic_rule)

    assert [(row.wnid, row.basic) for row in checked.below_basic] == [(ROBIN, BIRD), (DOG, ANIMAL)]
    assert checked.rule == "the nearest class of basic.txt above it"


def test_what_is_suggested_has_nothing_left_to_say(class_list, wordnet):
    before = class_list(DALMATIAN, DOG, ANIMAL, ROBIN, HAY, "jersey.n.03")
    scales = {HAY: 0.9}

    suggested = class_lists.suggest(before, wordnet, rule(wordnet), scales)

    assert suggested.classes == [DOG, BIRD, SHIRT]
    assert [(change.line, change.becomes, change.why) for change in suggested.changes] == [
        (1, DOG, "merged into its basic level"),
        (3, None, "above other classes"),
        (4, BIRD, "merged into its basic level"),
        (5, None, "covers the image"),
        (6, SHIRT, "merged into its basic level"),
    ]
    after = class_lists.check(class_list(*suggested.classes), wordnet, rule(wordnet), scales)
    assert after.ok


def test_what_could_come_instead_overlaps_with_nothing_that_is_left(class_list, wordnet):
    suggested = class_lists.suggest(class_list(DOG, ANIMAL, CAT), wordnet, rule(wordnet))

    [instead] = suggested.replacements
    assert instead.wnid == ANIMAL
    wnids = [candidate.wnid for candidate in instead.candidates]
    assert 0 < len(wnids) <= class_lists.CANDIDATES
    assert [candidate.uses for candidate in instead.candidates] == sorted(
        (candidate.uses for candidate in instead.candidates), reverse=True
    )
    left = {wordnet.index(wnid) for wnid in suggested.classes}
    for synset in map(wordnet.index, wnids):
        assert not wordnet.ancestors(synset) & left
        assert not any(synset in wordnet.ancestors(kept) for kept in left)


def test_the_command_checks_and_writes_without_a_database(wordnet, tmp_path, shell):
    path, out = tmp_path / "classes.txt", tmp_path / "new.txt"
    path.write_text(f"{DALMATIAN}\n{ANIMAL}\n{CAT}\n")
    boxes, sizes = tmp_path / "boxes.csv", tmp_path / "images.csv"
    boxes.write_text(f"image,wnid,x0,y0,x1,y1\na.jpg,{CAT},0,0,90,80\n")
    sizes.write_text("image,width,height\na.jpg,100,100\n")
    measured = ("--boxes", boxes, "--images", sizes)

    checked = shell.result("classes", "check", path, *measured)
    made = shell.result(
        *("classes", "suggest", path, "--out", out, "--changes", tmp_path / "c.csv", *measured)
    )

    assert [row["scale"] for row in checked["large"]] == [pytest.approx(0.72)]
    assert (checked["ok"], len(checked["overlaps"])) == (False, 2)
    assert out.read_text().split() == made["classes"] == [DOG]
    assert (tmp_path / "c.csv").read_text().splitlines()[1:] == [
        f"{DALMATIAN},{DOG},merged into its basic level",
        f"{ANIMAL},,above other classes",
        f"{CAT},,covers the image",
    ]
    status, text, _ = shell("classes", "check", path, "--basic", "ilsvrc-detection")
    assert (status, "dalmatian" in text) == (0, True)
    assert json.dumps(checked)


def test_the_command_refuses_what_does_not_go_together(wordnet, tmp_path, shell):
    path = tmp_path / "classes.txt"
    path.write_text(f"{DOG}\n")

    assert shell("classes", "check", path, "--images", path)[0] == 2
    assert shell("classes", "suggest", path, "--out", path)[0] == 1
    assert path.read_text() == f"{DOG}\n"

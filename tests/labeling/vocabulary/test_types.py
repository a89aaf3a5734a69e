"""Vocabularies of parts: read, every fault named with its place, names looked up."""

import copy
import json

import pytest

from labeling import strict_yaml
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.vocabulary.changes import changes
from labeling.vocabulary.checks import MAX_FAULTS, MAX_PARTS
from labeling.vocabulary.reading import MAX_CHARACTERS, build, parse, read, shipped
from labeling.vocabulary.types import VocabularyError
from tests.cases import for_each

SMALL = {
    "title": "Small",
    "categories": [
        {
            "key": "n02084071",
            "name": "dog",
            "aliases": ["hound"],
            "parts": [
                {"key": "head"},
                {
                    "key": "leg",
                    "several": True,
                    "aliases": ["limb"],
                    "merge": {"left": ["luleg", "llleg"], "right": ["ruleg"]},
                    "mirror": "leg",
                },
            ],
        },
        {"key": "n02121620", "name": "cat", "like": "dog"},
    ],
}


def pascal_names() -> dict[str, list[str]]:
    """Every part name of the 13 categories, as part2ind.m of PASCAL-Part lists them."""
    quadruped = "head leye reye lear rear {} torso neck {} tail"
    split_legs = "lfuleg lflleg rfuleg rflleg lbuleg lblleg rbuleg rblleg"
    paws = "lfleg lfpa rfleg rfpa lbleg lbpa rbleg rbpa"
    vehicle = "frontside leftside rightside backside roofside leftmirror rightmirror"
    vehicle += " fliplate bliplate door_# wheel_# headlight_# window_#"
    cow = quadruped.format("muzzle lhorn rhorn", split_legs)
    names_of_category = {
        "aeroplane": "body stern lwing rwing tail engine_# wheel_#",
        "bicycle": "fwheel bwheel saddle handlebar chainwheel headlight_#",
        "bird": "head leye reye beak torso neck lwing rwing lleg lfoot rleg rfoot tail",
        "bus": vehicle,
        "car": vehicle,
        "cat": quadruped.format("nose", paws),
        "cow": cow,
        "dog": quadruped.format("nose muzzle", paws),
        "horse": quadruped.format("muzzle", f"{split_legs} lfho rfho lbho rbho"),
        "person": "head leye reye lear rear lebrow rebrow nose mouth hair torso neck llarm luarm"
        " lhand rlarm ruarm rhand llleg luleg lfoot rlleg ruleg rfoot",
        "pottedplant": "pot plant",
        "sheep": cow,
        "train": "head hfrontside hleftside hrightside hbackside hroofside headlight_# coach_#"
        " cfrontside_# cleftside_# crightside_# cbackside_# croofside_#",
    }
    return {
        category: [
            name.replace("#", str(n))
            for name in names.split()
            for n in (range(1, 21) if "#" in name else (0,))
        ]
        for category, names in names_of_category.items()
    }


@pytest.fixture(scope="module")
def small():
    return build(SMALL)


def faults_of(change) -> list[str]:
    """What is wrong with the small vocabulary once it is changed."""
    raw = copy.deepcopy(SMALL)
    change(raw)
    with pytest.raises(VocabularyError) as refused:
        build(raw)
    return list(refused.value.faults)


def test_every_part_name_of_pascal_part_means_a_part():
    vocabulary = shipped()

    for category, names in pascal_names().items():
        parts = vocabulary.category(category)
        lost = [name for name in names if parts is None or parts.part_of(name) is None]
        assert lost == [], category


def test_no_two_names_of_pascal_part_mean_one_instance_unless_they_are_pieces_of_it():
    vocabulary = shipped()
    for category, names in pascal_names().items():
        parts = vocabulary.category(category)
        meant: dict[tuple[str, str], list[str]] = {}
        for name in names:
            meant.setdefault(parts.part_of(name), []).append(name)
        for (key, instance), sources in meant.items():
            pieces = parts.part(key).merge.get(instance, ())
            assert len(sources) == 1 or sorted(sources) == sorted(pieces), sources
            assert instance == "" or parts.part(key).several


def test_the_shipped_vocabulary_drops_left_and_right_front_and_back_upper_and_lower():
    vocabulary = shipped()

    def part(category, name):
        return vocabulary.category(category).part_of(name)

    assert part("person", "llleg") == part("person", "luleg") == ("leg", "left")
    assert part("cow", "rbuleg") == part("sheep", "rblleg") == ("leg", "right back")
    assert part("bicycle", "fwheel")[0] == part("bicycle", "bwheel")[0] == "wheel"
    assert part("bus", "leftside")[0] == part("car", "backside")[0] == "side"
    words = {"left", "right", "front", "back", "upper", "lower"}
    for category in vocabulary.categories:
        for key in category.by_key:
            assert not words & set(key.split("-")), key


def test_the_shipped_vocabulary_has_the_papers_categories_and_what_its_people_drew_by_hand():
    vocabulary = shipped()
    drawn = {
        (category.name, part.key): part.guidance
        for category in vocabulary.categories
        for part in category.parts
        if part.guidance
    }

    assert {category.name for category in vocabulary.categories} == {
        *("aeroplane", "bicycle", "bird", "bus", "car", "cat", "cow", "dog", "horse", "person"),
        *("sheep", "train", "potted plant"),
    }
    assert set(drawn) == {
        *(("aeroplane", "window"), ("train", "window"), ("bicycle", "spokes")),
        *(("cat", "whiskers"), ("potted plant", "leaves")),
    }
    assert "6" in drawn["aeroplane", "window"]
    assert "6" in drawn["train", "window"]
    assert "sectors" in drawn["bicycle", "spokes"]
    assert "3 or 4" in drawn["cat", "whiskers"]


def test_the_wnids_of_the_shipped_vocabulary_are_nouns_of_wordnet_that_say_the_name(wordnet):
    for category in shipped().categories:
        lemmas = wordnet.synset(wordnet.index(category.key)).lemmas
        assert {category.name, *category.aliases} & set(lemmas), category.key


def test_a_name_means_a_part_and_an_instance_whatever_its_capitals(small):
    dog = small.category("DOG")

    assert dog is small.category("hound") is small.category("n02084071")
    assert dog.part_of("LuLeg") == dog.part_of("llleg") == ("leg", "left")
    assert dog.part_of("ruleg") == ("leg", "right")
    assert dog.part_of("limb") == dog.part_of("leg") == ("leg", "")
    assert dog.part_of("wing") is None
    assert dog.part_of("object") is None
    assert small.category("horse") is None


def test_a_number_at_the_end_tells_instances_apart_unless_the_whole_name_is_known():
    raw = copy.deepcopy(SMALL)
    raw["categories"][0]["parts"].append({"key": "tail", "aliases": ["x_1"]})
    dog = build(raw).category("dog")

    assert dog.part_of("leg_2") == dog.part_of("leg_02") == ("leg", "2")
    assert dog.part_of("llleg_3") == ("leg", "left 3")
    assert dog.part_of("x_1") == ("tail", "")
    assert dog.part_of("x_2") is None


def test_a_category_that_is_like_another_has_its_parts(small):
    assert small.category("cat").parts == small.category("dog").parts


@pytest.mark.parametrize("make", [lambda: build(SMALL), shipped], ids=["small", "shipped"])
def test_a_vocabulary_comes_back_from_its_content_and_its_text(make):
    vocabulary = make()

    again = build(json.loads(json.dumps(vocabulary.content())))
    printed = parse(vocabulary.as_yaml())

    assert again == printed == vocabulary
    assert again.digest() == printed.digest() == vocabulary.digest()


def test_another_vocabulary_has_another_digest(small):
    raw = copy.deepcopy(SMALL)
    raw["categories"][0]["parts"][1]["holes"] = True

    assert build(raw).digest() != small.digest()


def part(raw, n=1):
    return raw["categories"][0]["parts"][n]


PART = "category 1 (dog), part 2 (leg): "
HEAD = "category 1 (dog), part 1 (head): "


@for_each(
    ("change", "message"),
    [
        (
            lambda r: r["categories"][1].update(like="cow"),
            "category 2 (cat): is like 'cow', an unk",
        ),
        (
            lambda r: r["categories"][1].update(like="cat"),
            "category 2 (cat): is like cat, which li",
        ),
        (lambda r: r["categories"][0].update(like="cat"), "category 1 (dog): has both"),
        (lambda r: r["categories"][1].pop("like"), "category 2 (cat): has no parts"),
        (
            lambda r: r["categories"][1].update(name="Hound"),
            "category 1 (dog): the name hound means",
        ),
        (
            lambda r: r["categories"][1].update(key="n02084071"),
            "category 2 (cat): the name n02084071 m",
        ),
        (lambda r: r["categories"][1].update(key="n 1"), "category 2 (cat): the key 'n 1' has"),
        (lambda r: r["categories"][1].pop("key"), "category 2 (cat): has no key; use the wnid"),
        (lambda r: r["categories"].append("cow"), "category 3: is 'cow'; write"),
        (lambda r: r.update(categories=[]), "has no categories"),
        (lambda r: r.update(categories={"dog": 1}), "categories is keys and values, no list"),
        (lambda r: r.update(version=2), "'version' is not an allowed key"),
        (
            lambda r: part(r)["merge"]["left"].append("leg"),
            PART + "merges into itself: leg is a pi",
        ),
        (lambda r: part(r)["merge"]["left"].append("LEG"), PART + "merges into itself"),
        (
            lambda r: part(r)["merge"]["left"].append("head"),
            PART + "the name head is also a name of the part head",
        ),
        (
            lambda r: part(r)["merge"]["left"].append("RuLeg"),
            PART + "the name ruleg is both a piece of",
        ),
        (
            lambda r: part(r)["merge"]["left"].append("limb"),
            PART + "the name limb is both another name of",
        ),
        (lambda r: part(r)["merge"]["left"].append("luleg"), PART + "left names 'luleg' twice"),
        (lambda r: part(r)["merge"].update(top=[]), PART + "merge has no pieces for top"),
        (lambda r: part(r)["merge"].update(top="x"), PART + "top is 'x', no list"),
        (lambda r: part(r).update(merge=["x"]), PART + "merge is a list"),
        (lambda r: part(r).update(several=False), PART + "merge makes 2 instances; set"),
        (lambda r: part(r).update(several="yes"), PART + "several is 'yes'; write true"),
        (lambda r: part(r).update(name=True), PART + "name is True, no text"),
        (lambda r: part(r).update(mirror="wing"), PART + "its mirror wing is not a part"),
        (lambda r: part(r).update(holds=["wing"]), PART + "it holds wing, which is not a part"),
        (lambda r: part(r).update(holds=["leg"]), PART + "holds itself; name the parts"),
        (lambda r: part(r).update(holds=True), PART + "holds is True, no list"),
        (lambda r: part(r, 0).update(mirror="leg"), HEAD + "mirrors leg, which mirrors leg"),
        (lambda r: part(r).update(nmae="x"), PART + "'nmae' is not an allowed key; use one of key"),
        (lambda r: part(r).update(guidance="x" * 5000), PART + "guidance has 5,000 characters"),
        (
            lambda r: part(r).update(aliases=["head"]),
            PART + "the name head is also a name of the part head",
        ),
        (lambda r: part(r).update(aliases=["limb", "Limb"]), PART + "aliases names 'Limb' twice"),
        (lambda r: part(r).update(aliases=[None]), PART + "aliases has an empty name"),
        (
            lambda r: part(r, 0).update(key="leg"),
            "category 1 (dog), part 2 (leg): the key leg occurs twice",
        ),
        (lambda r: part(r, 0).update(key="object"), "category 1 (dog), part 1 (object): object is"),
        (
            lambda r: part(r, 0).update(key="unlabeled-rest-object"),
            "category 1 (dog), part 1 (unlabeled-rest-object): unlabeled-rest-object is reserved",
        ),
        (
            lambda r: r["categories"][1].update(key="head"),
            HEAD + "the key head is also the key of a cat",
        ),
        (lambda r: part(r, 0).update(key="x" * 65), "category 1 (dog), part 1 (" + "x" * 65),
        (
            lambda r: r["categories"][0].update(parts=[{"key": f"p{n}"} for n in range(201)]),
            f"category 1 (dog): parts lists 201; at most {MAX_PARTS} fit",
        ),
    ],
)
def test_a_fault_is_named_with_its_place(change, message):
    faults = faults_of(change)

    assert len(faults) == 1, faults
    assert faults[0].startswith(message)


@pytest.mark.parametrize("like", [False, True])
def test_what_no_page_could_show_is_refused(like):
    parts = [{"key": f"p{n}"} for n in range(MAX_PARTS)]
    rows = [{"key": "c0", "parts": parts}]
    rows += [
        {"key": f"c{n}", **({"like": "c0"} if like else {"parts": parts})} for n in range(1, 26)
    ]

    with pytest.raises(VocabularyError, match="5,200 parts in all; at most 5,000 fit"):
        build({"categories": rows})


def test_faults_past_counting_are_not_gathered():
    parts = [{"key": f"p {n}"} for n in range(MAX_PARTS)]
    rows = [{"key": f"c{n}", "parts": parts} for n in range(3)]

    with pytest.raises(VocabularyError) as refused:
        build({"categories": rows})

    assert len(refused.value.found) == MAX_FAULTS


def test_all_faults_are_named_at_once_and_in_order():
    def change(raw):
        raw["categories"][1]["like"] = "cow"
        part(raw, 1)["mirror"] = "wing"
        part(raw, 0)["key"] = "object"

    assert [fault.split(":")[0] for fault in faults_of(change)] == [
        "category 1 (dog), part 1 (object)",
        "category 1 (dog), part 2 (leg)",
        "category 2 (cat)",
    ]


def test_a_fault_is_a_refusal_of_the_vocabulary():
    with pytest.raises(Refusal) as refused:
        build([])

    assert refused.value.field == "vocabulary"
    assert refused.value.code == "bad_vocabulary"


TEXT = """\
title: T
categories:
  - key: n1
    name: dog
    parts:
      - key: head
      - key: leg
        aliases:
          - limb
          - head
"""


def test_a_fault_in_a_text_is_named_with_its_line():
    with pytest.raises(VocabularyError) as refused:
        parse(TEXT)

    (fault,) = refused.value.found
    assert fault.line == 8
    assert str(fault).startswith("line 8, category 1 (dog), part 2 (leg): the name head is also")


@for_each(
    ("text", "line", "message"),
    [
        ("a: [1", 1, "not YAML"),
        ("title: a\ntitle: b", 2, "says 'title' twice"),
        ("a: &x 1\nb: *x", 2, "uses a YAML alias"),
        ("[" * 3000 + "]" * 3000, None, "nests too deeply"),
        ("#" * (MAX_CHARACTERS + 1), None, "has 500,001 characters"),
        ("", None, "has no keys"),
        (TEXT.replace("- limb", "- no"), 9, "aliases is False, no text; put it in quotes"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused_with_its_line(text, line, message):
    with pytest.raises(VocabularyError) as refused:
        parse(text)

    lines = {fault.line for fault in refused.value.found}
    assert line in lines
    assert message in refused.value.message


def test_a_file_is_read_and_its_faults_are_bad_input(tmp_path):
    file = tmp_path / "v.yaml"
    file.write_text(TEXT.replace("- head", "- snout"))

    assert read(file).category("dog").part_of("snout") == ("leg", "")

    file.write_text(TEXT + "  - key: n1\n    like: cow\n")
    with pytest.raises(BadInput) as bad:
        read(file)
    assert (bad.value.file, bad.value.line) == (str(file), 8)
    assert "an unknown category" in str(bad.value)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", None], ids=["binary", "missing"])
def test_a_file_that_is_no_text_is_bad_input(tmp_path, content):
    file = tmp_path / "v.yaml"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(BadInput, match="name a YAML file"):
        read(file)


def test_the_lines_of_a_text_are_those_of_its_keys():
    value, lines = strict_yaml.load_with_lines("a: 1\nb:\n  - c: 2\n    d: [3,\n 4]\n")

    assert value == {"a": 1, "b": [{"c": 2, "d": [3, 4]}]}
    assert lines["b", 0, "d"] == 4
    assert lines["b", 0, "d", 1] == 5
    assert strict_yaml.load_with_lines("") == (None, {})


def test_a_part_says_which_parts_may_lie_on_it():
    raw = copy.deepcopy(SMALL)
    raw["categories"][0]["parts"][0]["holds"] = ["leg"]
    before, after = build(SMALL), build(raw)

    assert after.category("dog").part("head").holds == ("leg",)
    assert after.category("cat").part("head").holds == ("leg",)
    assert parse(after.as_yaml()) == after
    [change, _] = changes(before, after)
    assert (change.field, change.before, change.after) == ("holds", "", "leg")


def test_eyes_lie_on_the_head_in_the_shipped_vocabulary():
    for category in shipped().categories:
        for part in category.parts:
            if part.key == "eye":
                assert "eye" in category.part("head").holds

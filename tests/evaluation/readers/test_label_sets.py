"""`wordnet near` and `wordnet correct-sets`: which labels, and how large hCorrectSets are."""

import importlib.util
from pathlib import Path

import pytest

from evaluation.metrics.ilsvrc.hpk import correct_sets, labels_within, mean_sizes
from tests.evaluation.management.test_wordnet_command import refused, result_of, run

pytestmark = pytest.mark.usefixtures("wordnet")
ILSVRC = Path(__file__).resolve().parents[4] / "shared" / "data" / "imagenet_synsets.txt"
METRICS = Path(__file__).resolve().parents[3] / "docs/reference/metrics.md"
DRAKE, DUCK, DOG = "n01847000", "n01846331", "n02084071"


def list_file(path: Path, *wnids: str) -> Path:
    path.write_text("".join(f"{wnid}\n" for wnid in wnids))
    return path


def test_labels_within_hops_of_a_list(tmp_path, wordnet):
    seed = list_file(tmp_path / "seed.txt", DRAKE, DOG)

    result = result_of("near", seed, "--hops", 1)

    seeds = [wordnet.index(DRAKE), wordnet.index(DOG)]
    assert result["labels"] == [wordnet.wnid(i) for i in labels_within(wordnet, seeds, 1)]
    assert {DRAKE, DUCK, DOG} <= set(result["labels"])
    assert (result["count"], result["of_the_seed"], result["hops"]) == (len(result["labels"]), 2, 1)
    assert "WordNet 3.0" in result["hierarchy"]
    assert result_of("near", seed, "--hops", 0)["labels"] == sorted([DRAKE, DOG])


@pytest.mark.timeout(120)
def test_more_hops_than_wordnet_has_end_with_all_of_it(tmp_path, wordnet):
    seed = list_file(tmp_path / "seed.txt", DRAKE)

    result = result_of("near", seed, "--hops", 10**12)

    assert result["count"] == result_of("near", seed, "--hops", 60)["count"]


def test_labels_of_another_list_alone(tmp_path):
    seed = list_file(tmp_path / "seed.txt", DRAKE)
    among = list_file(tmp_path / "among.txt", DUCK, DOG)

    result = result_of("near", seed, "--hops", 1, "--among", among)

    assert (result["labels"], result["of_the_seed"]) == ([DUCK], 0)


def test_the_documented_counts_of_labels_near_ilsvrcs_classes_come_out(tmp_path):
    if not ILSVRC.exists():
        pytest.skip("the list of ILSVRC classes is not beside the checkout")
    documented = " ".join(METRICS.read_text().split())

    everything = [result_of("near", ILSVRC, "--hops", hops)["count"] for hops in (1, 2, 3)]

    assert everything == [2648, 7571, 12183]
    assert "2,648, 7,571 and 12,183" in documented


def test_the_documented_counts_among_the_classes_of_imagenet_2011_come_out(tmp_path):
    documented = " ".join(METRICS.read_text().split())
    # timm carries the list of ImageNet 2011; it is not imported, since that loads torchvision.
    timm = importlib.util.find_spec("timm")
    if timm is None or timm.origin is None or not ILSVRC.exists():
        pytest.skip("timm, which has the list of ImageNet 2011, or the list of ILSVRC is not here")
    names = Path(timm.origin).parent / "data" / "_info" / "imagenet22k_synsets.txt"
    among = list_file(tmp_path / "21k.txt", *names.read_text().split())
    counts = [result_of("near", ILSVRC, "--hops", n, "--among", among)["count"] for n in (1, 2, 3)]
    assert counts == [2547, 6988, 10704]
    assert "2,547, 6,988 and 10,704" in documented


def test_a_person_reads_names(tmp_path):
    status, out, error = run("near", list_file(tmp_path / "seed.txt", DRAKE), "--hops", 1)

    assert (status, error) == (0, "")
    assert f"{DUCK}  duck" in out.splitlines()
    assert "labels within 1 hop, 1 given" in out


def test_the_table_of_sizes_has_a_row_a_set(tmp_path, wordnet):
    few = list_file(tmp_path / "few.txt", DRAKE, DUCK, DOG)
    more = list_file(tmp_path / "more.txt", DRAKE, DUCK, DOG, "n02018207")

    result = result_of(
        "correct-sets", few, f"all={more}", "--true", list_file(tmp_path / "t.txt", DRAKE)
    )

    assert [(row["name"], row["labels"]) for row in result["rows"]] == [("few", 3), ("all", 4)]
    assert result["true_labels"] == 1
    valid = [wordnet.index(wnid) for wnid in more.read_text().split()]
    sizes = mean_sizes(correct_sets(wordnet, valid, valid[:1]))
    assert result["rows"][1]["mean_correct_set_size"] == {str(k): n for k, n in sizes.items()}
    alone = result_of("correct-sets", few)
    assert alone["true_labels"] is None
    assert alone["rows"][0]["mean_correct_set_size"]["1"] == 1


def test_the_sizes_of_the_1000_classes(tmp_path):
    if not ILSVRC.is_file():
        pytest.skip(f"{ILSVRC} is not there")

    [drake] = result_of("correct-sets", ILSVRC, "--true", list_file(tmp_path / "t.txt", DRAKE))[
        "rows"
    ]
    status, out, _ = run("correct-sets", ILSVRC)

    assert list(drake["mean_correct_set_size"].values()) == [1, 2, 11, 11, 28]
    assert status == 0
    assert "1000      1   4.54   9.48   17.99   33.82" in out


def test_what_is_no_label_is_refused(tmp_path):
    bad = list_file(tmp_path / "bad.txt", DRAKE, "n99999999")
    good = list_file(tmp_path / "good.txt", DRAKE)

    for arguments in (("near", bad, "--hops", 1), ("correct-sets", bad)):
        refusal = refused(*arguments)
        assert (refusal["line"], refusal["file"]) == (2, str(bad))
    second_refusal = refused("correct-sets", good, "--true", list_file(tmp_path / "t.txt", DOG))
    assert f"{DOG} is not a valid label" in second_refusal["error"]


def test_hops_are_whole_numbers(tmp_path):
    for hops in ["-1", "x", "1.5"]:
        assert run("near", list_file(tmp_path / "seed.txt", DRAKE), "--hops", hops)[0] == 2, hops


@pytest.mark.parametrize("label", [DRAKE, "drake.n.02"])
def test_labels_near_one_label(tmp_path, label):
    seed = list_file(tmp_path / "seed.txt", DRAKE)

    assert result_of("near", label, "--hops", 1) == result_of("near", seed, "--hops", 1)
    assert result_of("near", "ilsvrc", "--hops", 0)["count"] == 1000


def test_a_label_that_names_no_class_is_refused():
    assert "n99999999" in refused("near", "n99999999", "--hops", 1)["error"]

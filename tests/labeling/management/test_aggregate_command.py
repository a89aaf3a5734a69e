"""`aggregate answers.csv`, to the letter of the contract, and without a database."""

import json
import random
from functools import partial

import numpy as np
import pytest

from labeling.csv_rows import MAX_LINE_LENGTH
from tests.cases import for_each
from tests.labeling import crowds

HEADER = "annotator,image,answer\n"


@pytest.fixture
def run(shell):
    return partial(shell, "aggregate")


@pytest.fixture
def result(shell):
    return partial(shell.result, "aggregate")


@pytest.fixture
def refusal(shell):
    return partial(shell.refusal, "aggregate")


@pytest.fixture
def write(tmp_path):
    def write(text: str | bytes, name: str = "answers.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_out_writes_the_labels_as_a_truth_that_comes_in_again(write, result, tmp_path):
    answers = write(sheet({"a.png": "yyn", "b.png": "nnn", "d.png": "..."}))
    out = tmp_path / "labels.csv"

    output = result(answers, "--out", out)

    assert output["out"] == str(out)
    assert out.read_text().splitlines() == [
        "image,answer,probability",
        "a.png,y,0.6666666666666666",
        "b.png,n,1.0",
    ]
    assert result(answers, "--truth", out)["accuracy"] == 1


def test_out_is_a_file_in_a_folder_that_there_is(write, run, tmp_path):
    answers = write(sheet({"a.png": "yyn"}))

    status, _, err = run(answers, "--out", tmp_path / "no" / "labels.csv")

    assert status == 1
    assert "its folder does not exist; create " in err


def sheet(votes: dict[str, str]) -> str:
    """One letter a vote, by annotators p0, p1, …; a dot is an abstention."""
    return HEADER + "".join(
        f"p{number},{image},{'' if vote == '.' else vote}\n"
        for image, answers in votes.items()
        for number, vote in enumerate(answers)
    )


def truth(labels: dict[str, str]) -> str:
    return "image,answer\n" + "".join(f"{image},{label}\n" for image, label in labels.items())


def test_majority_is_the_default_and_ties_are_counted(result, write):
    answers = write(sheet({"a": "yyn", "b": "yn.", "c": "y", "d": "...", "e": "nnn"}))

    got = result(answers)

    assert got["method"] == "majority"
    # Two answers each way in all but one: n is commoner, so the tie of b is n.
    assert got["labels"] == {"a": "y", "b": "n", "c": "y", "d": None, "e": "n"}
    assert got["probabilities"]["a"] == {"n": pytest.approx(1 / 3), "y": pytest.approx(2 / 3)}
    assert got["probabilities"]["d"] == {}
    assert (got["ties"], got["answers"], got["abstentions"]) == (1, 9, 4)
    assert got["accuracy"] is None
    # The tied image judges nobody.
    assert got["tied"] == ["b"]
    assert got["annotators"]["p0"] == {"accuracy": 1.0, "answers": 4}
    assert got["settings"] == {}


def test_accuracy_is_over_the_images_with_answers_and_truth(run, write):
    answers = write(sheet({"a": "yyn", "b": "y", "c": "n", "d": "."}))
    known = write(truth({"a": "y", "b": "n", "d": "y", "zz": "y"}), "truth.csv")

    status, out, err = run(answers, "--truth", known, "--json")

    got = json.loads(out)
    # a right, b wrong, d has no label; c has no truth and zz no answers.
    assert (status, got["accuracy"], got["judged"]) == (0, pytest.approx(1 / 3), 3)
    assert err == f"1 image of {known} without answers\n"


def test_the_order_of_rows_and_columns_changes_nothing(result, write):
    rng = random.Random(0)
    lines = [
        (f"p{person}", f"i{image}", rng.choice("yn"))
        for person in range(6)
        for image in range(20)
        if rng.random() < 0.7
    ]
    first = write(HEADER + "".join(",".join(line) + "\n" for line in lines))
    rng.shuffle(lines)
    second = write(
        "answer,annotator,image\n" + "".join(f"{c},{a},{b}\n" for a, b, c in lines), "other.csv"
    )

    for method in ("majority", "dawid-skene"):
        assert result(first, "--method", method) == result(second, "--method", method)


def test_strings_stay_strings(result, write):
    answers = write(HEADER + 'a,01,1.0\nb,01,1.0\na,1,"with, comma"\na,ü,"two\nlines"\n')

    assert result(answers)["labels"] == {"01": "1.0", "1": "with, comma", "ü": "two\nlines"}


SPELLINGS = ["yes ", " yes", "Yes", "YES", "y\uff45s"]


@for_each("word", SPELLINGS)
def test_answers_that_differ_in_spelling_only_are_pointed_out(run, write, word):
    status, out, err = run(write(HEADER + f"a,1,yes\nb,1,{word}\n"), "--json")

    assert status == 0
    assert json.loads(out)["classes"] == sorted(["yes", word])
    assert err.endswith("differ only in case, spaces or normal form\n")


@for_each("word", SPELLINGS)
@for_each("method", ["dawid-skene", "posterior", "vote-table"])
def test_gold_that_differs_from_an_answer_in_spelling_only_is_refused(refusal, write, method, word):
    answers = write(sheet({"a": "yn", "b": "yy"}).replace(",y\n", ",yes\n"))
    gold = write(f"image,answer\nb,yes\na,{word}\n", "gold.csv")

    got = refusal(answers, "--method", method, "--gold", gold)

    assert f"the answer {word!r} differs from the annotators' 'yes' only in case" in got["error"]
    assert (got["file"], got["line"], got["cure"]) == (str(gold), 3, "write 'yes'")


def test_a_truth_of_other_words_is_warned_of_and_never_refused(run, write):
    answers = write(sheet({"a": "yyn", "b": "nny"}))
    known = write(truth({"a": "Y", "b": "m"}), "truth.csv")

    status, out, err = run(answers, "--truth", known, "--json")

    assert (status, json.loads(out)["accuracy"]) == (0, 0)
    assert f"no annotator answers 'Y', the label of 1 image in {known}; answers have 'y'\n" in err
    assert f"no annotator answers 'm', the label of 1 image in {known}\n" in err


def test_repeated_answers_are_kept_or_the_last_counts(run, write):
    rows = HEADER + "a,1,x\na,1,y\na,1,y\nb,1,x\nb,2,y\na,2,x\na,2,\n"
    kept, last = (
        run(write(rows), "--repeated", repeated, "--json") for repeated in ("keep", "last")
    )

    for status, _, err in (kept, last):
        assert (status, err) == (0, "3 rows repeat an image of the same annotator\n")
    kept, last = json.loads(kept[1]), json.loads(last[1])
    assert kept["probabilities"]["1"] == {"x": 0.5, "y": 0.5}
    assert (kept["answers"], kept["abstentions"]) == (6, 1)
    assert last["probabilities"] == {"1": {"x": 0.5, "y": 0.5}, "2": {"x": 0.0, "y": 1.0}}
    assert (last["answers"], last["abstentions"], last["tied"]) == (3, 1, ["1"])


def test_marks_at_the_start_blank_lines_and_windows_line_ends_are_fine(result, write):
    got = result(write(b"\xef\xbb\xbfannotator,image,answer\r\n\r\na,1,x\r\nb,1,x\r\n\r\n"))

    assert got["labels"] == {"1": "x"}
    assert got["answers"] == 2


BAD = {
    "twice": (HEADER + "a,1,x\nb,1,x\na,1,x\n", 4, "answers image '1' again, first on line 2"),
    "twice with an abstention": (HEADER + "a,1,\na,1,x\n", 3, "first on line 2"),
    "twice after a cell of two lines": (HEADER + 'a,1,"x\ny"\na,1,x\n', 4, "first on line 2"),
    "unknown column": ("annotator,image,answer,time\na,1,x,3\n", 1, "unknown column 'time'"),
    "missing column": ("annotator,image\na,1\n", 1, "the column 'answer' is missing"),
    "doubled column": ("annotator,image,answer,image\n", 1, "the column 'image' occurs twice"),
    "no header": ("a,1,x\nb,1,x\n", 1, "unknown column 'a'"),
    "short row": (HEADER + "a,1,x\nb,1\n", 3, "the row has 2 cells, the header 3"),
    "long row": (HEADER + "a,1,x,y\n", 2, "the row has 4 cells, the header 3"),
    "no annotator": (HEADER + ",1,x\n", 2, "the annotator is empty"),
    "no image": (HEADER + "a,,x\n", 2, "the image is empty"),
    "NUL": (HEADER + "a,1,x\nb,1,\0\n", 3, "contains a NUL character"),
    "open quote": (HEADER + 'a,1,x\nb,1,"x\n', 3, "is not CSV"),
    "stray quote": (HEADER + 'a,1,"x"y\n', 2, "is not CSV"),
    "not UTF-8": (HEADER.encode() + b"a,1,x\nb,1,\xff\n", 3, "is not UTF-8"),
    "UTF-16": (HEADER.encode("utf-16"), 1, "is not UTF-8"),
    "empty": ("", None, "the file is empty"),
    "header only": (HEADER, None, "no answers below the header"),
    "endless line": (HEADER + "a" * (MAX_LINE_LENGTH + 1), 2, "longer than"),
    "endless row": (HEADER + 'a,1,"x\n' + 'y","x\n' * 200_000, 2, "the row is longer than"),
    "long cell": (HEADER + f"a,1,{'x' * 200_000}\n", 2, "is not CSV (field larger"),
}


@for_each("name", BAD)
def test_a_bad_file_is_refused_with_line_and_cure(refusal, write, name):
    text, line, message = BAD[name]
    path = write(text)

    got = refusal(path)

    assert message in got["error"]
    assert (got["file"], got["line"]) == (str(path), line)
    assert got["cure"]


@for_each(
    ("text", "line", "message"),
    [
        ("image,answer\na,y\na,y\n", 3, "image 'a' occurs twice"),
        ("image,answer\na,\n", 2, "the answer is empty"),
        ("image,answer\n,y\n", 2, "the image is empty"),
        ("image,label\na,y\n", 1, "unknown column 'label'"),
        ("image,answer\n", None, "no answers below the header"),
        ("image,answer\nother,y\n", None, "none of its images has answers"),
    ],
)
@for_each("option", ["--truth", "--gold"])
def test_bad_truth_and_bad_gold_are_refused(refusal, write, option, text, line, message):
    answers, path = write(sheet({"a": "yy", "b": "n"})), write(text, "known.csv")

    got = refusal(answers, "--method", "dawid-skene", option, path)

    assert message in got["error"]
    assert (got["file"], got["line"]) == (str(path), line)


def test_a_file_that_is_not_there_and_a_folder_are_refused(refusal, tmp_path):
    assert "no such file" in refusal(tmp_path / "none.csv")["error"]
    assert "is a directory" in refusal(tmp_path)["error"]


@for_each(
    ("options", "message"),
    [
        (["--method", "posterior"], "requires --gold"),
        (["--yes", "y"], "--yes requires --method vote-table"),
        (["--method", "mean"], "invalid choice"),
        (["--prior", "-1"], "is not a number from 0"),
        (["--prior", "nan"], "is not a number from 0"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(run, write, options, message):
    status, out, err = run(write(sheet({"a": "y"})), *options)

    assert (status, out) == (2, "")
    assert message in err


def test_everybody_abstains_from_everything(result, refusal, write):
    answers = write(sheet({"a": "..", "b": "."}))

    for method in ("majority", "dawid-skene"):
        got = result(answers, "--method", method)
        assert got["labels"] == {"a": None, "b": None}
        assert (got["classes"], got["ties"], got["abstentions"]) == ([], 0, 3)
        assert got["annotators"]["p0"]["answers"] == 0
    assert "10 votes" in refusal(answers, "--method", "vote-table")["error"]


def test_one_class_is_all_there_is(result, write):
    answers = write(sheet({"a": "y" * 12, "b": "y"}))

    for method in ("majority", "dawid-skene", "vote-table"):
        assert result(answers, "--method", method)["labels"] == {"a": "y", "b": "y"}


def test_posterior_is_bayes_with_the_confusions_on_gold(result, write):
    # On gold: p0 3 of 4 right (one n called y), p1 all right, p2 never met gold.
    votes = {"g1": "yy", "g2": "yy", "g3": "yn", "g4": "nn", "x": "yny"}
    gold = write(truth({"g1": "y", "g2": "y", "g3": "n", "g4": "n"}), "gold.csv")

    got = result(write(sheet(votes)), "--method", "posterior", "--gold", gold, "--prior", "0.5")

    people = got["annotators"]
    assert [people[p]["accuracy"] for p in ("p0", "p1", "p2")] == [0.75, 1.0, None]
    # Rows: truth n, truth y; columns: answer n, answer y.
    assert people["p0"]["confusion"] == [[0.5, 0.5], pytest.approx([1 / 6, 5 / 6])]
    assert people["p1"]["confusion"] == [
        pytest.approx([5 / 6, 1 / 6]),
        pytest.approx([1 / 6, 5 / 6]),
    ]
    # The crowd, for who never met gold: of 4 votes on true n 3 said n, of 4 on true y all y.
    assert people["p2"]["confusion"] == [pytest.approx([0.7, 0.3]), pytest.approx([0.1, 0.9])]
    yes, no = 0.5 * (5 / 6) * (1 / 6) * 0.9, 0.5 * 0.5 * (5 / 6) * 0.3
    assert got["probabilities"]["x"]["y"] == pytest.approx(yes / (yes + no))
    assert got["settings"]["class_prior"] == {"n": 0.5, "y": 0.5}


def test_gold_that_nobody_answered_teaches_nothing(refusal, write):
    gold = write(truth({"a": "y"}), "gold.csv")
    got = refusal(write(sheet({"a": ".", "b": "y"})), "--method", "posterior", "--gold", gold)

    assert (got["file"], got["line"]) == (str(gold), None)
    assert "no annotator gave one of its answers" in got["error"]


@pytest.mark.parametrize("method", ["dawid-skene", "posterior", "vote-table"])
def test_gold_that_nobody_answers_is_no_class_and_makes_its_image_wrong(run, write, method):
    # Each image twice the ten votes of a vote table; p0 is right on g0 to g9.
    votes = {f"g{n}": "y" * 9 + "n" * 3 if n % 2 else "n" * 9 + "y" * 3 for n in range(10)}
    gold = {image: vote[0] for image, vote in votes.items()}
    votes |= {"new": "y" * 8 + "n" * 4, "odd": "y" * 12}
    answers = write(sheet(votes))

    def run_with(more: dict[str, str]):
        known = write(truth(gold | more), "gold.csv")
        status, out, err = run(answers, "--method", method, "--gold", known, "--json")
        assert status == 0
        return json.loads(out), err

    plain, silence = run_with({})
    got, err = run_with({"odd": "maybe"})

    assert silence == ""
    assert "no annotator answers 'maybe', the label of 1 image" in err
    assert got["classes"] == ["n", "y"]
    assert got["labels"] == plain["labels"]
    assert got["labels"]["odd"] == "y"
    accuracies = [each["annotators"]["p0"]["accuracy"] for each in (plain, got)]
    judged = 11 if method == "posterior" else 12
    assert accuracies == pytest.approx([1, (judged - 1) / judged], abs=0.01)


def test_a_vote_table_is_learned_for_each_topic(result, write):
    # In "easy" three fifths of yes mean yes; in "hard" they mean no.
    lines = ["annotator,image,answer,topic"]
    known = {}
    for topic, threshold in (("easy", 5), ("hard", 8)):
        for number in range(60):
            yes = number % 11
            image = f"{topic}{number}"
            known[image] = "1" if yes >= threshold else "0"
            lines += [f"p{v},{image},{int(v < yes)},{topic}" for v in range(10)]
        lines += [f"p{v},{topic}-new,{int(v < 6)},{topic}" for v in range(10)]
    answers = write("\n".join(lines) + "\n")

    got = result(answers, "--method", "vote-table", "--gold", write(truth(known), "gold.csv"))

    assert got["labels"]["easy-new"] == "1"
    assert got["labels"]["hard-new"] == "0"
    assert got["settings"]["topics"] == 2
    assert got["settings"]["calibration_images"] == 120
    assert sum(got["probabilities"]["easy-new"].values()) == pytest.approx(1)


def test_the_answer_that_means_yes_can_be_named(result, write):
    # "absent" is the smaller string; named as yes, the tables are the same seen from behind.
    votes = {f"i{n}": "pppppppppaaa"[: 12 - n % 3] for n in range(9)}
    votes |= {f"j{n}": "aaaaaaaaapp" for n in range(9)}
    answers = write(sheet(votes))

    usual = result(answers, "--method", "vote-table")
    renamed = result(answers, "--method", "vote-table", "--yes", "a")

    assert (usual["settings"]["yes"], renamed["settings"]["yes"]) == ("p", "a")
    assert usual["labels"] == renamed["labels"]
    for image in votes:
        assert usual["probabilities"][image] == pytest.approx(
            renamed["probabilities"][image], abs=1e-6
        )


@for_each(
    ("votes", "options", "message"),
    [
        ({"a": "xyz"}, [], "there are 3 different answers"),
        ({"a": "xy"}, ["--yes", "q"], "nobody answers 'q'"),
        ({"a": "xy"}, [], "no image has a known answer and 10 votes"),
        ({"a": "x" * 101}, [], "image 'a' has 101 votes, tables go to 100"),
    ],
)
def test_what_no_vote_table_can_be_learned_from_is_refused(refusal, write, votes, options, message):
    got = refusal(write(sheet(votes)), "--method", "vote-table", *options)

    assert message in got["error"]
    assert got["cure"]


def test_an_image_with_two_topics_is_refused(refusal, write):
    answers = write("annotator,image,answer,topic\na,1,x,cat\nb,1,x,dog\n")

    got = refusal(answers, "--method", "vote-table")

    assert (got["line"], got["error"]) == (3, "image '1' has the topic 'dog', before it had 'cat'")
    assert "unknown column 'topic'" in refusal(answers)["error"]


def test_with_many_classes_what_is_all_but_impossible_is_left_out(result, write):
    answers = write(HEADER + "".join(f"p{n},i{n % 5},c{n}\n" for n in range(30)))

    got = result(answers)

    assert set(got["probabilities"]["i0"]) == {f"c{n}" for n in range(0, 30, 5)}
    assert "confusion" not in got["annotators"]["p0"]


def test_too_many_classes_for_confusion_matrices_are_refused(refusal, write):
    answers = write(HEADER + "".join(f"p{n},i,c{n}\n" for n in range(600)))

    got = refusal(answers, "--method", "dawid-skene")

    assert "600 annotators with 600 classes need 2 GiB" in got["error"]
    assert got["cure"] == "use --method majority"


def test_the_bluebirds_from_the_shell(result):
    crowds.bluebirds()
    answers, known = crowds.BLUEBIRDS / "answers.csv", crowds.BLUEBIRDS / "truth.csv"

    majority = result(answers, "--truth", known)
    two_coin = result(answers, "--truth", known, "--method", "dawid-skene")

    assert round(majority["accuracy"] * 108) == 82
    assert round(two_coin["accuracy"] * 108) == 97
    assert two_coin["settings"]["prior"] == 0.01
    assert two_coin["settings"]["converged"]
    assert set(two_coin["annotators"]["1005"]) == {"accuracy", "answers", "confusion"}
    for method in ("posterior", "vote-table"):
        got = result(answers, "--truth", known, "--gold", known, "--method", method)
        assert got["accuracy"] > majority["accuracy"]
        assert got["accuracy_outside_gold"] is None


def test_the_dogs_have_the_labels_of_dawid_skene(result):
    crowds.real_crowd("crowds/dogs")
    folder = crowds.DATA / "crowds" / "dogs"

    got = result(folder / "answers.csv", "--truth", folder / "truth.csv", "--method", "dawid-skene")

    assert round(got["accuracy"] * 807) == 680


def test_people_read_a_summary(run, write):
    votes = {f"i{n:02d}": "yyn" for n in range(25)}
    status, out, err = run(write(sheet(votes)), "--method", "dawid-skene")

    assert (status, err) == (0, "")
    assert "dawid-skene" in out
    assert "i19" in out
    assert "i20" not in out
    assert "… 5 more with --json" in out


def test_it_runs_where_there_is_no_database(tmp_path, write):
    import subprocess
    import sys
    from pathlib import Path

    done = subprocess.run(
        [sys.executable, "manage.py", "aggregate", str(write(sheet({"a": "yyn"}))), "--json"],
        cwd=Path(__file__).resolve().parents[3],
        env={
            "PATH": "/usr/bin:/bin",
            "DATABASE_URL": "postgres://nobody@127.0.0.1:1/nothing",
            "ASSAY_DATA": str(tmp_path),
            "SECRET_KEY": "of this test",
        },
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["labels"] == {"a": "y"}


@pytest.mark.parametrize("column", ["topic", "wnid"])
def test_the_class_of_an_image_may_be_called_topic_or_wnid(result, write, column):
    rows = [
        f"p{n},i{image},{'y' if image % 2 else 'n'},coot\n" for n in range(10) for image in (1, 2)
    ]
    answers = write(f"annotator,image,answer,{column}\n" + "".join(rows))

    assert result(answers, "--method", "vote-table")["settings"]["topics"] == 1


@pytest.mark.parametrize(
    ("folder", "method"),
    [
        ("crowds/dogs", "majority"),
        ("crowds/dogs", "dawid-skene"),
        ("crowds/dogs", "posterior"),
        ("bluebirds", "vote-table"),
    ],
)
def test_the_stated_error_comes_from_gold_and_stands_beside_each_label(
    result, write, folder, method, tmp_path
):
    answers, right = crowds.real_crowd(folder)
    names = answers.item_names
    truth_of = {name: answers.classes[label] for name, label in zip(names, right, strict=True)}
    drawn = np.random.default_rng(1).choice(len(names), len(names) // 5, replace=False)
    gold = {names[item]: truth_of[names[item]] for item in drawn}
    codes = zip(answers.annotators, answers.items, answers.labels, strict=True)
    rows = [
        (answers.annotator_names[person], names[item], answers.classes[label])
        for person, item, label in codes
    ]
    text = "annotator,image,answer\n" + "".join(",".join(row) + "\n" for row in rows)
    options = ("--method", method, "--gold", write(truth(gold), "gold.csv"))

    got = result(write(text), *options, "--out", tmp_path / "labels.csv")

    stated, outside = got["stated_error"], set(truth_of) - set(gold)
    real = np.mean([got["labels"][image] != truth_of[image] for image in outside])
    assert stated["basis"] == "gold"
    assert stated["interval"][0] < real < stated["interval"][1]
    assert got["error"].keys() == outside
    assert stated["value"] == pytest.approx(np.mean(list(got["error"].values())), abs=1e-6)
    header, first = (tmp_path / "labels.csv").read_text().splitlines()[:2]
    assert header == "image,answer,probability,error"
    assert first.split(",")[3] in {"", str(got["error"].get(first.split(",")[0]))}


@pytest.mark.parametrize("method", ["majority", "dawid-skene", "vote-table"])
def test_without_gold_no_error_is_stated_but_a_range(result, write, method, tmp_path):
    votes = {f"i{n}": "yyn" if n % 3 else "nny" for n in range(30)}
    if method == "vote-table":
        votes = {image: word * 4 for image, word in votes.items()}

    got = result(write(sheet(votes)), "--method", method, "--out", tmp_path / "labels.csv")

    stated = got["stated_error"]
    assert (stated["value"], stated["interval"], stated["basis"]) == (None, None, None)
    assert 0 <= stated["range"][0] < stated["range"][1] <= 1
    assert "error" not in got
    assert (tmp_path / "labels.csv").read_text().startswith("image,answer,probability\n")


def test_gold_that_teaches_nothing_without_its_fifth_states_no_error(result, write):
    votes = {f"i{n}": "yyn" for n in range(60)}
    gold = write(truth({"i0": "y", "i1": "y"}) + "i99,y\n", "gold.csv")
    sparse = write(sheet(votes | {"i1": ""}), "sparse.csv")

    stated = result(sparse, "--method", "posterior", "--gold", gold)["stated_error"]

    assert (stated["value"], stated["basis"]) == (None, None)
    assert 0 <= stated["range"][0] < stated["range"][1] <= 1


def test_few_gold_images_give_an_interval_and_no_number(result, write):
    votes = {f"i{n}": "yyn" for n in range(60)}
    gold = write(truth({f"i{n}": "y" for n in range(19)}), "gold.csv")

    stated = result(write(sheet(votes)), "--method", "dawid-skene", "--gold", gold)["stated_error"]

    assert stated["value"] is None
    assert stated["interval"][0] < stated["interval"][1]


def test_labels_with_errors_are_read_back_as_truth(result, write, tmp_path):
    votes = {f"i{n}": "yyn" for n in range(60)}
    gold = write(truth({f"i{n}": "y" for n in range(30)}), "gold.csv")
    answers = write(sheet(votes))
    result(answers, "--gold", gold, "--out", tmp_path / "labels.csv")

    assert result(answers, "--truth", tmp_path / "labels.csv")["accuracy"] == 1

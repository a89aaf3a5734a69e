"""`campaign` and `nightly`, by their contract."""

import json
from unittest import mock

import pytest
from django.db import OperationalError, ProgrammingError

from evaluation.management.commands import nightly as nightly_command
from evaluation.models import Benchmark, Run
from labeling.models import Answer, Campaign
from labeling.quality import memberships
from labeling.releases import freezing
from tests import factories
from tests.evaluation import crowd
from tests.evaluation.box_world import write
from tests.evaluation.crowd import COOT, DRAKE, GOLDFISH, TENCH
from tests.labeling.hierarchies import GRAPH


@pytest.fixture
def selection(tmp_path, dataset, wordnet):
    crowd.add_images(dataset, crowd.lines())
    path = tmp_path / "selection.jsonl"
    path.write_bytes(crowd.file_of(crowd.lines()).read())
    return path


def opening(selection, *more) -> list:
    return [
        *("campaign", "open", "contains", "--name", "birds", "--dataset", "pond"),
        *("--selection", selection, *more),
    ]


def test_open_makes_the_benchmark_and_asks(selection, shell, alice):
    result = shell.result(*opening(selection))

    assert (result["name"], result["state"], result["questions"]) == ("birds", "open", 15)
    assert Benchmark.objects.get().created_by == alice


def test_open_takes_policy_and_title(selection, shell, tmp_path):
    (tmp_path / "policy.yaml").write_text("votes: 3\nmax_votes: 5\n")

    shell.result(
        *opening(selection, "--policy", tmp_path / "policy.yaml", "--title", "Birds of the pond"),
        "--draft",
    )

    made = Campaign.objects.get()
    assert made.state == Campaign.State.DRAFT
    assert made.policy.content["votes"] == 3
    assert made.title == "Birds of the pond"


def test_contains_asks_about_a_list_without_a_benchmark(shell, tmp_path, dataset, wordnet):
    factories.make_image(dataset, "a.png")
    rows = tmp_path / "rows.csv"
    rows.write_text(f"image,wnid\na.png,{COOT}\na.png,{DRAKE}\n")
    words = ("campaign", "open", "contains", "--name", "birds", "--dataset", "pond")

    result = shell.result(*words, "--labels", rows)

    assert (result["state"], result["questions"]) == ("open", 2)
    assert not Benchmark.objects.exists()


def test_a_draft_is_launched_and_people_join_by_the_link(selection, shell, bob):
    shell.result(*opening(selection, "--draft"))

    assert shell.result("campaign", "launch", "birds")["state"] == "open"
    made = shell.result("campaign", "invite", "birds", "--people", 2, "--role", "reviewer")

    member = memberships.accept(made["link"].split("/")[2], bob)
    assert (member.campaign.name, member.role, made["people"]) == ("birds", "reviewer", 2)
    refused = shell.refusal("campaign", "invite", "birds", "--people", 1001)
    assert "1001 people; expected 1 to 1000" in refused["error"]


def test_open_naming_asks_about_every_image(shell, tmp_path, dataset, wordnet):
    for number in range(3):
        factories.make_image(dataset, f"{number}.png")
    (tmp_path / "classes.txt").write_text(f"{COOT}\n{DRAKE}\n")

    result = shell.result(
        *("campaign", "open", "naming", "--name", "names", "--dataset", "pond"),
        *("--vocabulary", tmp_path / "classes.txt"),
    )

    assert (result["kind"], result["questions"]) == ("naming", 3)


def test_open_naming_takes_the_shipped_classes(shell, dataset, wordnet):
    factories.make_image(dataset, "a.png")

    result = shell.result(
        *("campaign", "open", "naming", "--name", "names", "--dataset", "pond"),
        *("--vocabulary", "ilsvrc"),
    )

    assert result["questions"] == 1
    assert len(Campaign.objects.get().settings["vocabulary"]) == 1000


def test_a_naming_release_of_listed_classes_is_scored_as_a_submission(
    shell, tmp_path, dataset, wordnet, bob
):
    for image in "abc":
        factories.make_image(dataset, f"{image}.png")
    (tmp_path / "classes.txt").write_text("\n".join((TENCH, COOT, GOLDFISH, DRAKE)))
    (tmp_path / "policy.yaml").write_text("votes: 1\nmax_votes: 1\n")
    shell.result(
        *("campaign", "open", "naming", "--name", "names", "--dataset", "pond", "--most", 5),
        *("--vocabulary", tmp_path / "classes.txt", "--policy", tmp_path / "policy.yaml"),
    )
    made = Campaign.objects.get()
    factories.join(bob, made)
    answered_wnids = {"a.png": [DRAKE, COOT], "b.png": [GOLDFISH, TENCH, COOT], "c.png": [TENCH]}
    crowd.answer(made, [bob], lambda image, topic: {"keys": answered_wnids[image]})
    shell.result("campaign", "freeze", "names", "--out", tmp_path / "release")
    rows = zip(answered_wnids, (COOT, COOT, DRAKE), strict=True)
    truth = write(tmp_path / "truth.csv", ["image", "wnid"], list(rows))

    result = shell.result(
        *("score", "classification", "--truth", truth, "--predictions", tmp_path / "release")
    )

    assert [entry["key"] for entry in made.settings["vocabulary"]] == [GOLDFISH, TENCH, COOT, DRAKE]
    assert made.topics.get(key=COOT).definition
    assert result["images"] == 3
    assert (result["top1_error"]["value"], result["top5_error"]["value"]) == (1.0, 1 / 3)
    assert [result["hit_at_k"][k]["value"] for k in "125"] == [0, 1 / 3, 2 / 3]


def test_pause_resume_and_close(selection, shell):
    shell.result(*opening(selection))

    states = [
        shell.result("campaign", verb, "birds")["state"] for verb in ("pause", "resume", "close")
    ]

    assert states == ["paused", "open", "closed"]


def test_status_counts_questions_by_state(selection, shell):
    shell.result(*opening(selection))

    result = shell.result("campaign", "status", "birds")

    assert result["by_state"]["open"] == 15
    assert result["answers"] == 0


def test_without_json_a_table_is_printed(selection, shell):
    _, out, _ = shell(*opening(selection))

    assert ["state", "open"] in [line.split() for line in out.splitlines()]


def test_freeze_writes_a_release_that_reads_back(selection, shell, tmp_path):
    shell.result(*opening(selection))
    campaign = Campaign.objects.get()
    crowd.answer(campaign, crowd.people_of(campaign), crowd.right_is(COOT))

    result = shell.result("campaign", "freeze", "birds", "--out", tmp_path / "release")

    frozen = freezing.read(tmp_path / "release")
    assert result["counts"]["settled"] == 15
    assert frozen.meta["sha256"] == result["sha256"]
    assert len(list(frozen.answers())) == 15


def test_freeze_says_how_many_questions_are_not_in_the_release(selection, shell, tmp_path):
    shell.result(*opening(selection))

    _, _, message = shell("campaign", "freeze", "birds", "--out", tmp_path / "release")

    assert "15 questions are not settled yet, and not in the release" in message


def test_rebuild_says_what_would_differ_and_changes_nothing(selection, shell):
    shell.result(*opening(selection))
    campaign = Campaign.objects.get()
    crowd.answer(campaign, crowd.people_of(campaign), crowd.right_is(COOT))
    assert shell.result("campaign", "rebuild", "birds")["differences"] == []
    question = campaign.questions.filter(topic=COOT, state="settled").first()
    Answer.objects.filter(assignment__question=question).update(value="no")

    [difference] = shell.result("campaign", "rebuild", "birds")["differences"]

    assert difference["question"] == question.pk
    assert (difference["stands"]["value"], difference["rebuilt"]["value"]) == ("yes", "no")
    assert question.settlements.count() == 1


@pytest.fixture
def home(dataset, tmp_path):
    """Three images, and a graph of their own in a file."""
    for number in range(3):
        factories.make_image(dataset, f"{number}.png")
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(GRAPH))
    return path


def opening_graph(graph, *more) -> list:
    return [
        *("campaign", "open", "hierarchy", "--name", "home", "--dataset", "pond"),
        *("--graph", graph, *more),
    ]


def test_open_hierarchy_asks_the_roots_of_every_image(home, shell):
    result = shell.result(*opening_graph(home))

    assert (result["kind"], result["state"], result["questions"]) == ("hierarchy", "open", 12)
    made = Campaign.objects.get()
    assert made.settings == {"mode": "safe", "order": "breadth"}
    assert made.graph.version == 1


def test_open_hierarchy_takes_ilsvrcs_graph_mode_order_and_images(home, shell, tmp_path):
    (tmp_path / "images.txt").write_text("2.png\n0.png\n")

    result = shell.result(
        *opening_graph("ilsvrc", "--mode", "strict", "--order", "learned"),
        *("--images", tmp_path / "images.txt"),
    )

    assert result["questions"] == 2 * 17
    made = Campaign.objects.get()
    assert made.settings == {"mode": "strict", "order": "learned"}
    assert made.topics.count() == 245


def test_open_hierarchy_takes_classes_per_image(home, shell):
    shell.result(*opening_graph(home, "--present", "4"))

    assert Campaign.objects.get().settings["present"] == 4
    assert shell(*opening_graph(home, "--present", "0"))[0] == 1


def test_open_hierarchy_with_a_faulty_graph_names_file_and_fault(home, shell):
    raw = json.loads(home.read_text())
    raw["nodes"][1]["parents"] = ["beast"]
    home.write_text(json.dumps(raw))

    code, _, line = shell(*opening_graph(home))

    assert code == 1
    assert f"{home}: dog: its parent beast is not in the graph" in line
    assert not Campaign.objects.exists()


def test_open_hierarchy_with_an_image_that_is_not_there_makes_nothing(home, shell, tmp_path):
    (tmp_path / "images.txt").write_text("0.png\n9.png\n")

    code, _, line = shell(*opening_graph(home, "--images", tmp_path / "images.txt"))

    assert code == 1
    assert "images.txt: 1 of the images are not in pond: 9.png" in line
    assert not Campaign.objects.exists()


def test_what_cannot_be_done_is_one_clear_line(shell, coots):
    for arguments, code, words in [
        (["status", "nobody"], 1, "there is no campaign 'nobody'"),
        (["freeze", "nobody", "--out", "x"], 1, "there is no campaign 'nobody'"),
        (["open", "rings", "--name", "b", "--dataset", "pond"], 2, "there is no kind 'rings'"),
        (["open", "contains", "--name", "b", "--dataset", "pond"], 2, "needs --selection"),
        (["open", "contains", "--name", "b", "--dataset", "sea"], 1, "there is no dataset 'sea'"),
        (["open", "hierarchy", "--name", "b", "--dataset", "pond"], 2, "needs --graph"),
        (
            ["open", "hierarchy", "--name", "b", "--dataset", "pond", "--graph", "no.json"],
            1,
            "no.json: No such file",
        ),
        (
            ["open", "naming", "--name", "b", "--dataset", "pond", "--graph", "ilsvrc"],
            2,
            "--graph is for campaigns of the kind hierarchy",
        ),
    ]:
        status, _, line = shell("campaign", *arguments)

        assert status == code, arguments
        assert words in line, arguments


def test_a_bad_line_of_the_selection_is_named(selection, shell):
    rows = selection.read_text().splitlines()
    rows[2] = rows[2].replace('"rank": 2', '"rank": -2')
    selection.write_text("\n".join(rows) + "\n")

    error = shell.refusal(*opening(selection))

    assert error["line"] == 3
    assert error["file"] == "selection.jsonl"
    assert error["cure"]
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("votes: many\n", "policy.yaml: votes is 'many'"),
        ("votes: 5\nmax_votes: [\n", "policy.yaml, line 2: is not YAML"),
    ],
)
def test_a_bad_policy_names_the_file_and_what_is_wrong(selection, shell, tmp_path, text, words):
    (tmp_path / "policy.yaml").write_text(text)

    code, _, line = shell(*opening(selection, "--policy", tmp_path / "policy.yaml"))

    assert code == 1
    assert words in line


@pytest.mark.parametrize("error", [OperationalError, ProgrammingError])
def test_a_database_without_tables_is_one_line_with_the_cure(shell, db, monkeypatch, error):
    monkeypatch.setattr(
        Campaign.objects, "filter", mock.Mock(side_effect=error("no such table: campaign"))
    )

    code, _, err = shell("campaign", "status", "birds")

    assert (code, err.count("\n")) == (1, 1)
    assert "no such table" in err
    assert "manage.py migrate" in err


def test_nightly_prints_its_counts_and_each_benchmark(selection, shell):
    shell.result(*opening(selection))
    campaign = Campaign.objects.get()
    crowd.answer(campaign, crowd.people_of(campaign), crowd.right_is(COOT))

    assert shell.result("nightly") == {
        "settled": 0,
        "releases": 1,
        "runs": 1,
        "benchmarks": [
            {
                "name": "birds",
                "version": None,
                "changed": 15,
                "added": 0,
                "removed": 0,
                "run": Run.objects.get().pk,
                "error": None,
            }
        ],
        "failed": [],
    }

    assert "runs" in shell("nightly")[1]
    assert nightly_command.Command.requires_system_checks == []

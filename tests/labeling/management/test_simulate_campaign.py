import json

import pytest
from django.core.management import call_command

from labeling.files import BadInput
from labeling.management.contract import UsageError


@pytest.fixture
def files(tmp_path):
    (tmp_path / "policy.yaml").write_text("votes: 3\nmax_votes: 3\ncost_per_hour: 9\n")
    (tmp_path / "crowd.yaml").write_text("questions: 300\npeople: 12\naudited: 60\n")
    return tmp_path


def run(files, capsys, *more):
    call_command(
        "simulate",
        "campaign",
        str(files / "policy.yaml"),
        "--crowd",
        str(files / "crowd.yaml"),
        *more,
    )
    return capsys.readouterr().out


def test_json_has_what_was_promised(files, capsys):
    result = json.loads(run(files, capsys, "--json"))

    assert {"error", "answers_per_question", "cost", "blocked", "stated_error"} <= set(result)
    assert set(result["blocked"]) == {"rightly", "wrongly"}
    low, high = result["stated_error"]["interval"]
    assert 0 <= low <= result["stated_error"]["value"] <= high <= 1
    answers = sum(result["answers"].values())
    assert result["cost"] == pytest.approx(answers * 4 / 3600 * 9)


def test_the_same_seed_prints_the_same(files, capsys):
    first, again, changed = (
        run(files, capsys, "--seed", seed, "--json") for seed in ("3", "3", "4")
    )

    assert first == again != changed


def test_the_table_is_for_people(files, capsys):
    output = run(files, capsys)

    assert "stated error" in output
    assert "blocked wrongly" in output


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("policy.yaml", "votes: many\n", "votes is 'many'"),
        ("policy.yaml", "vote: 3\n", "no key 'vote'"),
        ("policy.yaml", "- 3\n", "has no keys"),
        ("policy.yaml", "votes: [\n", "is not YAML"),
        ("crowd.yaml", "people: -1\n", "people is -1"),
    ],
)
def test_a_fault_is_said_with_its_file(files, capsys, name, content, message):
    (files / name).write_text(content)

    with pytest.raises(BadInput) as refused:
        run(files, capsys)

    assert message in str(refused.value)
    assert name in str(refused.value)


def test_a_seed_below_nothing_is_wrong_usage(files, capsys):
    with pytest.raises(UsageError):
        run(files, capsys, "--seed=-1")

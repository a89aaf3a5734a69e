"""Campaigns of candidates from the shell: opened on a list, looked at, stopped."""

import pytest

from labeling.follow_ups import candidate_lists
from labeling.models import Campaign, Topic
from tests import factories

pytestmark = pytest.mark.usefixtures("wordnet")
WHIPPET, BURMESE = "n02091134", "n02123917"
LIST = f"""image,wnid,query
w0.png,{WHIPPET},whippet
w0.png,{WHIPPET},whippet greyhound
w1.png,whippet,whippet dog
b0.png,Burmese cat,
"""


@pytest.fixture
def pool(dataset):
    for name in ("w0.png", "w1.png", "b0.png"):
        factories.make_image(dataset, name)
    return dataset


@pytest.fixture
def opened(pool, tmp_path, shell):
    """The options of `campaign open` for a list with this content."""

    def options(content=LIST, **more):
        path = tmp_path / "found.csv"
        path.write_text(content)
        flags = [part for key, value in more.items() for part in (f"--{key}", value)]
        head = ("campaign", "open", "candidates", "--name", "v", "--dataset", pool.name)
        return (*head, "--candidates", path, *flags)

    return options


def test_a_list_becomes_an_open_campaign_with_wordnets_words(opened, shell):
    made = shell.result(*opened(wanted=20, budget=7.5))

    assert (made["kind"], made["state"], made["questions"]) == ("candidates", "open", 3)
    campaign = Campaign.objects.get(name="v")
    assert campaign.settings == {"precision": 0.997, "wanted": 20, "audited": 100, "budget": 7.5}
    first = campaign.questions.get(item__image__name="w0.png")
    assert candidate_lists.queries_of([first.pk])[first.pk] == ["whippet", "whippet greyhound"]
    cat = campaign.topics.get(key=BURMESE)
    assert cat.url == "https://en.wikipedia.org/wiki/Burmese_cat"
    names = [row["name"] for row in cat.siblings]
    assert len(names) == 8
    assert cat.name not in names
    assert names == sorted(names, key=str.lower)


def test_siblings_that_are_asked_about_too_come_first(opened, pool, shell):
    cats = ["n02123917", "n02123597", "n02123394"]
    lines = [f"b0.png,{wnid},q" for wnid in cats]
    shell.result(*opened("\n".join(lines)))

    first = Topic.objects.get(key=cats[0]).siblings[:2]

    others = Topic.objects.filter(key__in=cats[1:]).values_list("name", flat=True)
    assert {row["name"] for row in first} == set(others)


def test_a_pilot_is_asked_before_the_campaign_opens(opened, shell):
    shell.result(*opened(pilot=1))

    campaign = Campaign.objects.get(name="v")
    assert campaign.state == "open"
    # One of each class wants ten votes.
    seats = campaign.questions.order_by("seats_free").values_list("seats_free", flat=True)
    assert list(seats) == [2, 10, 10]


def test_a_list_at_fault_makes_no_campaign(opened, shell):
    for content, line, error in [
        (f"w0.png,{WHIPPET},q\nw0.png", 2, "wnid is missing"),
        (f"w0.png,{WHIPPET},q\nx.png,{WHIPPET},q\n", 2, "'x.png' is not in pond"),
        ("image,wnid,query\nw0.png,n00000001,q\n", 2, "n00000001"),
        ("w0.png,crane,q\n", 1, "crane"),
        ("\n", None, "lists nothing"),
    ]:
        refused = shell.refusal(*opened(content))

        assert refused["file"].endswith("found.csv"), content
        assert refused["line"] == line, content
        assert error in refused["error"], content
        assert not Campaign.objects.exists(), content


def test_a_missing_file_and_rules_that_cannot_be_are_refused(opened, shell, tmp_path):
    refused = shell.refusal(*opened(precision=3))
    assert "precision is 3.0; give a number from 0.5 to 0.9999" in refused["error"]
    (tmp_path / "found.csv").unlink()
    arguments = opened()
    (tmp_path / "found.csv").unlink()
    assert "cannot be read" in shell.refusal(*arguments)["error"]


def test_wrong_usage_is_said_with_status_2(pool, shell):
    for options in [
        ("campaign", "open", "candidates", "--name", "v", "--dataset", "pond"),
        ("campaign", "open", "contains", "--name", "v", "--dataset", "pond", "--wanted", "3"),
        ("campaign", "open", "naming", "--name", "v", "--dataset", "pond", "--pilot", "3"),
    ]:
        status, _, err = shell(*options)

        assert status == 2, options
        assert "candidates" in err, options

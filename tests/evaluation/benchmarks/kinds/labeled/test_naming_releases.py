"""Releases of naming campaigns as submissions to a benchmark."""

import hashlib
import io
import json
import re
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from evaluation.benchmarks.kinds.labeled import benchmarks
from evaluation.benchmarks.kinds.labeled.label_sets import reviews
from evaluation.metrics.wordnet.nouns import load
from evaluation.readers import release_predictions
from labeling.campaigns import lifecycle
from labeling.files import BadInput
from labeling.follow_ups import opening
from labeling.release_files import frozen
from labeling.releases import freezing
from tests import factories
from tests.clients import html_of, logged_in, program
from tests.evaluation import crowd
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.label_sets import ducks
from tests.evaluation.benchmarks.kinds.labeled.test_running import finished, lines
from tests.evaluation.benchmarks.kinds.labeled.world import packed
from tests.evaluation.crowd import COOT, DRAKE, GOLDFISH, TENCH

IMAGES = [f"{name}.png" for name in "abcd"]
TRUTH = dict(zip(IMAGES, (COOT, COOT, DRAKE, TENCH), strict=True))
# People were not asked about "d.png".
SAID = {"a.png": [COOT], "b.png": [DRAKE, COOT], "c.png": [TENCH, GOLDFISH]}
MACHINE = [("a.png", 1, COOT), ("b.png", 1, GOLDFISH), ("c.png", 1, DRAKE), ("d.png", 1, COOT)]


def naming_release(alice, bob, dataset, name, answers, **settings):
    """A naming campaign with these answers of one person each."""
    campaign = opening.draft(
        alice,
        name=name,
        title=name.title(),
        kind="naming",
        dataset=dataset,
        policy={"votes": 1, "max_votes": 1, "gold_share": 0},
        settings=settings,
        vocabulary=[{"key": key, "name": key} for key in (COOT, DRAKE, TENCH, GOLDFISH)],
        pairs=opening.naming_pairs(dataset, list(answers)),
    )
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    crowd.answer(campaign, [bob], lambda image, _: answers[image])
    return campaign


@pytest.fixture
def benchmark(wordnet, alice, bob, dataset, tmp_path):
    """A classification on four images in which a machine takes part, and a release of "names"."""
    for image in IMAGES:
        factories.make_image(dataset, image)
    truth = naming_release(alice, bob, dataset, "truth", {k: {"key": v} for k, v in TRUTH.items()})
    made = world.make(alice, truth, "classification")
    world.submit(made, alice, tmp_path, "machine", MACHINE)
    people = naming_release(
        alice, bob, dataset, "names", {k: {"keys": v} for k, v in SAID.items()}, most=5
    )
    freezing.freeze(people, alice)
    return made


def release_of(benchmark):
    return benchmark.campaign.dataset.campaigns.get(name="names").releases.get()


def test_people_are_scored_on_their_images_and_compared_on_them(
    benchmark, alice, run_jobs, as_alice
):
    url = reverse("evaluation:submissions", args=["classification"])
    page = as_alice.post(url, {"name": "people", "release": release_of(benchmark).pk})

    assert page.status_code == 302
    run = finished(benchmark, run_jobs)
    machine, people = run.result["submissions"]
    assert (machine["result"]["images"], people["result"]["images"]) == (4, 3)
    assert people["result"]["people"]["campaign"] == "names"
    assert people["result"]["top1_error"]["value"] == pytest.approx(2 / 3)
    assert people["result"]["top5_error"]["value"] == pytest.approx(1 / 3)
    comparison = run.result["comparison"]
    [pair] = comparison["pairs"]
    assert comparison["images"] == 3
    assert comparison["holm"] == {"over": "pairs of people and a classifier", "tests": 1}
    assert pair["errors"] == [1, 1]
    assert (pair["only_first_wrong"], pair["only_second_wrong"]) == (1, 1)
    assert pair["either_right"]["value"] == 1.0
    assert (pair["mcnemar_holm_p"], pair["z"]) == (1.0, 0.0)
    outcomes = {line["image"]: line["outcomes"]["people"] for line in lines(benchmark, run)}
    assert outcomes["d.png"] is None
    assert outcomes["b.png"]["rank"] == 2
    response = as_alice.get(reverse("evaluation:benchmark", args=["classification"]))
    assert "Either right" in html_of(response)
    assert "people settled 3 of the 4 images" in html_of(response)
    images = as_alice.get(
        reverse("evaluation:labeled_images", args=["classification", run.pk]),
        {"classifier": "people"},
    )
    assert images.status_code == 200


def test_a_release_says_the_same_by_command_by_file_and_by_the_api(benchmark, alice, shell):
    folder = freezing.folder_of(release_of(benchmark))
    by_command = shell.result("benchmark", "submit", "classification", "people", folder)
    url = "/api/v1/benchmarks/classification/submissions/people/"

    answer = program(alice).put(url, {"campaign": "names"}, format="json")

    assert answer.status_code == 200, answer.content
    row = benchmark.submissions.get(name="people")
    # The release itself is what counts, not how it was packed.
    assert (row.attempts, row.sha256) == (1, release_of(benchmark).sha256)
    assert by_command["sha256"] == row.sha256


@pytest.fixture
def pseudonyms(benchmark, alice, bob, charlie) -> dict[str, str]:
    """The pseudonyms in a release of "pairs": bob and dave are right, charlie says tench."""
    dave = factories.make_user("dave")
    answers_by_user = {bob: TRUTH, dave: TRUTH, charlie: dict.fromkeys(IMAGES[:3], TENCH)}
    campaign = opening.draft(
        alice,
        name="pairs",
        title="Pairs",
        kind="naming",
        dataset=benchmark.campaign.dataset,
        policy={"votes": 3, "stop_early": "never", "gold_share": 0},
        settings={},
        vocabulary=[{"key": key, "name": key} for key in (COOT, DRAKE, TENCH, GOLDFISH)],
        pairs=opening.naming_pairs(benchmark.campaign.dataset, list(IMAGES[:3])),
    )
    lifecycle.launch(campaign, alice)
    for user, answers in answers_by_user.items():
        factories.join(user, campaign)
        crowd.answer(campaign, [user], lambda image, _, answers=answers: {"key": answers[image]})
    release = freezing.freeze(campaign, alice)
    votes = frozen.read(freezing.folder_of(release)).votes()
    return {
        "charlie" if vote["value"] == {"key": TENCH} else "bob": vote["annotator"]
        for vote in votes
        if TRUTH[vote["image"]] != TENCH
    }


def test_each_person_of_a_release_is_a_submission(benchmark, alice, pseudonyms, run_jobs, as_alice):
    url = "/api/v1/benchmarks/classification/submissions/"
    for name, annotator in pseudonyms.items():
        body = {"campaign": "pairs", "annotator": annotator}
        assert program(alice).put(f"{url}{name}/", body, format="json").status_code == 200
    page = as_alice.post(
        reverse("evaluation:submissions", args=["classification"]),
        {
            "name": "again",
            "release": benchmark.campaign.dataset.campaigns.get(name="pairs").releases.get().pk,
            "annotator": pseudonyms["charlie"],
        },
    )

    assert page.status_code == 302
    run = finished(benchmark, run_jobs)
    results = {row["name"]: row["result"] for row in run.result["submissions"]}
    wrong = sum(TRUTH[image] != TENCH for image in IMAGES[:3]) / 3
    assert results["bob"]["top1_error"]["value"] == 0
    assert results["charlie"]["top1_error"]["value"] == pytest.approx(wrong)
    assert results["again"]["top1_error"] == results["charlie"]["top1_error"]
    assert run.result["comparison"]["images"] == 3
    hashes = dict(benchmark.submissions.values_list("name", "sha256"))
    assert hashes["again"] == hashes["charlie"] != hashes["bob"]
    # The pseudonym stays with the researchers of the naming campaign.
    assert pseudonyms["charlie"] not in json.dumps(run.result)
    scores = as_alice.get(reverse("evaluation:benchmark", args=["classification"]))
    assert "one annotator answered 3 of the 4 images" in html_of(scores)


@pytest.mark.parametrize(
    ("annotator", "message"),
    [
        ("bob", "is not a pseudonym"),
        ("../../annotator-00", "is not a pseudonym"),
        ("annotator-00", "has no votes of annotator-00"),
    ],
)
def test_a_person_that_a_release_lacks_is_refused(benchmark, alice, annotator, message):
    answer = program(alice).put(
        "/api/v1/benchmarks/classification/submissions/people/",
        {"campaign": "names", "annotator": annotator},
        format="json",
    )

    assert answer.status_code == 400
    assert message in answer.content.decode()
    assert not benchmark.submissions.filter(name="people").exists()


def zip_naming(release, person, method=zipfile.ZIP_DEFLATED):
    """The release's zip, with this annotator.txt."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for path in freezing.folder_of(release).iterdir():
            archive.writestr(f"names-1/{path.name}", path.read_bytes())
        archive.writestr("annotator.txt", person)
    return stream.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_damaged_name_of_a_person_is_refused(benchmark, alice, tmp_path, method):
    content = bytearray(zip_naming(release_of(benchmark), "annotator-00", method))
    start = content.rindex(b"PK\3\4") + 30 + len("annotator.txt")
    content[start : start + 8] = b"\xff" * 8

    with pytest.raises(BadInput, match="damaged"):
        world.submit(benchmark, alice, tmp_path, "people", bytes(content))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_zip_names_one_person(benchmark, alice, tmp_path):
    stream = io.BytesIO(zip_naming(release_of(benchmark), "annotator-00"))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("annotator.txt", "annotator-01")

    with pytest.raises(BadInput, match=r"has 2 files annotator\.txt"):
        world.submit(benchmark, alice, tmp_path, "people", stream.getvalue())


def test_a_byte_order_mark_before_a_person_is_ignored(benchmark, alice, tmp_path):
    content = zip_naming(release_of(benchmark), "\ufeffannotator-00\r\n")

    with pytest.raises(BadInput, match="has no votes of annotator-00") as refused:
        world.submit(benchmark, alice, tmp_path, "people", content)
    # Not the folder that the zip was unpacked to.
    assert refused.value.file == "people.sent"


def test_one_person_by_command(benchmark, alice, pseudonyms, shell):
    release = benchmark.campaign.dataset.campaigns.get(name="pairs").releases.get()
    path = freezing.folder_of(release) / pseudonyms["bob"]

    shell.result("benchmark", "submit", "classification", "bob", path)

    assert benchmark.submissions.filter(name="bob").exists()


def test_what_is_no_release_is_refused(benchmark, alice):
    url = "/api/v1/benchmarks/classification/submissions/people/"
    for body in [
        {},
        {"campaign": "nobodys"},
        {"campaign": "names", "number": 9},
        {"number": 1},
        {"annotator": "annotator-00"},
    ]:
        answer = program(alice).put(url, body, format="json")

        assert answer.status_code in (400, 403, 404), body
        assert not benchmark.submissions.filter(name="people").exists(), body


def test_every_version_of_the_label_sets_scores_people_on_their_images(benchmark, alice, bob):
    folder = freezing.folder_of(release_of(benchmark))
    benchmarks.add_submission(benchmark, alice, "people", folder, "names")
    review = ducks.opened(benchmark, alice)
    ducks.answered(review, bob)
    reviews.apply(review, alice, load())

    first, second = ducks.scored(benchmark, alice).result["label_sets"]

    images = {row["name"]: row["accuracy"]["images"] for row in first["submissions"]}
    assert images == {"machine": 4, "people": 3}
    assert second["comparison"]["holm"]["over"] == "pairs of people and a classifier"
    assert "mcnemar_holm_p" in second["comparison"]["pairs"][0]


def test_a_file_and_a_release_at_once_are_refused(benchmark, as_alice):
    url = reverse("evaluation:submissions", args=["classification"])

    page = as_alice.post(url, {"name": "people"})

    assert "Choose a file, or a release of what people named." in html_of(page)


def forged(files, /, **changes):
    """The release with these values in its head, which has the hash that it then ought to have."""
    meta = json.loads(files["release.json"]) | changes
    return files | {"release.json": json.dumps(meta | {"sha256": frozen.digest(meta)})}


def answers(files, *lines):
    """The release with other answers, which have their hash."""
    content = "".join(f"{line}\n" for line in lines).encode()
    files_of_head = json.loads(files["release.json"])["files"]
    sha256 = hashlib.sha256(content).hexdigest()
    files_of_head["answers.jsonl"] |= {"sha256": sha256, "bytes": len(content), "lines": len(lines)}
    return forged(files | {"answers.jsonl": content}, files=files_of_head)


def damaged(content):
    """The zip with other bytes in its first file."""
    start = 30 + len("answers.jsonl")
    end = start + 40
    return content[:start] + bytes(byte ^ 0xFF for byte in content[start:end]) + content[end:]


# What is sent, by the files of a release that is whole.
BAD = {
    "damaged": lambda files: damaged(packed(files)),
    "damaged bzip2": lambda files: damaged(packed(files, zipfile.ZIP_BZIP2)),
    "damaged lzma": lambda files: damaged(packed(files, zipfile.ZIP_LZMA)),
    "a head that nests": lambda files: packed({"release.json": "[" * 100_000}),
    "a head of digits": lambda files: packed({"release.json": "9" * 5_000}),
    "a folder called so": lambda files: packed({"release.json/release.json": "{}"}),
    "no files": lambda files: packed(forged(files, files=None)),
    "files elsewhere": lambda files: packed(forged(files, files={"/etc/passwd": {"sha256": ""}})),
    "files above": lambda files: packed(forged(files, files={"../a": {"sha256": ""}})),
    "a file without a hash": lambda files: packed(forged(files, files={"answers.jsonl": 1})),
    "no campaign": lambda files: packed(forged(files, campaign=[])),
    "half a character": lambda files: packed({"release.json": json.dumps({"format": "\ud800"})}),
    "an answer of no image": lambda files: packed(answers(files, "{}")),
    "an answer that is a list": lambda files: packed(answers(files, "[]")),
    "no JSON": lambda files: packed(answers(files, "{")),
    "votes of words": lambda files: packed(
        answers(files, '{"image": "a.png", "wnid": "n02018207", "votes": 3}')
    ),
}


def test_a_zip_that_is_no_whole_release_is_refused_and_nothing_is_kept(benchmark, alice):
    folder = freezing.folder_of(release_of(benchmark))
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    for case in BAD:
        content = SimpleUploadedFile("people.zip", BAD[case](files))

        url = reverse("evaluation:submissions", args=["classification"])
        page = logged_in(alice).post(url, {"name": "people", "file": content})

        assert page.status_code == 422, case
        assert re.search(r"people\.zip: .*(fetch|give|freeze)", html_of(page)), case
        assert not benchmark.submissions.filter(name="people").exists(), case


def test_what_else_lies_in_the_zip_of_a_release_is_left_there(benchmark, alice, tmp_path):
    folder = freezing.folder_of(release_of(benchmark))
    files = {f"r/{path.name}": path.read_bytes() for path in folder.iterdir()}
    others = {f"r/{'x' * 300}": "", "r/a": "", "r/a/b": "", "r/../up": "", "r/zeros": bytes(2**20)}
    path = tmp_path / "people.zip"
    path.write_bytes(packed(files | others))

    with release_predictions.opened(path) as release:
        assert {path.name for path in release.folder.iterdir()} == {
            "release.json",
            *release.meta["files"],
        }
    assert release_predictions.sha256_of(path) == release_of(benchmark).sha256

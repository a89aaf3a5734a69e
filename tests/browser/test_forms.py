"""Every form of the site, to its last button, as a mouse presses it.

What a browser refuses by itself (a required field left empty) no other test sees. `PRESSED` names
for each template with a form the test that presses its buttons; those of "here" are STEPS below.
"""

import io
import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from PIL import Image as Pillow

from evaluation.models import Benchmark
from labeling.datasets import vocabulary_store
from labeling.models import Campaign, Dataset, Import, Job, Question
from tests import factories
from tests import world as worlds
from tests.evaluation import crowd

HERE = "test_forms::test_every_form_reaches_its_last_button"
PRESSED = {
    "_form.html": "",  # only its comment has a form
    "_languages.html": "test_languages::test_a_language_is_chosen_before_logging_in",
    "_user_menu.html": HERE,
    "account/login.html": HERE,
    "account/logout.html": HERE,
    "account/password_change.html": HERE,
    "account/reauthenticate.html": HERE,
    "account/signup.html": "test_hierarchy_story::sign_up_and_join",
    "annotator/_boxes_form.html": (
        "test_boxes_page::test_a_box_is_drawn_by_four_clicks_in_any_order"
    ),
    "annotator/_flag.html": ("test_flags::test_a_flag_survives_a_broken_network_and_is_answered"),
    "annotator/flags.html": "test_flags::test_an_image_is_flagged_without_scripts",
    "annotator/_first_steps.html": (
        "test_first_steps::test_home_leads_from_an_empty_site_to_the_first_answer"
    ),
    "annotator/_grid_form.html": "test_grid::test_a_second_press_at_once_sends_no_second_page",
    "annotator/_label_form.html": "test_labeling::test_answers_work_without_scripts",
    "annotator/_parts_form.html": "test_parts_page::test_parts_are_drawn_with_the_mouse",
    "annotator/join.html": "test_hierarchy_story::sign_up_and_join",
    "annotator/tutorial.html": "test_tutorial::test_three_questions_come_before_the_first_real_one",
    "annotator/training.html": "test_training::test_training_works_without_scripts",
    "evaluation/labeled/label_audit.html": (
        "test_label_audit::test_doubtful_labels_are_asked_about_again"
    ),
    "evaluation/mad/_counterexample.html": (
        "test_results::test_true_label_is_asked_from_the_gallery"
    ),
    "evaluation/mad/_tags.html": "test_results::test_wrong_images_are_tagged_by_keyboard",
    "evaluation/mad/class_gallery.html": "test_results::test_a_class_is_chosen_over_all_pairs",
    "evaluation/mad/failure_tags.html": "test_results::test_wrong_images_are_tagged_by_keyboard",
    "evaluation/mad/accuracies.html": HERE,
    "evaluation/_score_now.html": "test_demo::score",
    "evaluation/mad/new.html": "test_forms::test_a_selection_becomes_a_competition_by_mouse",
    "evaluation/cds/new.html": "test_cds_forms::test_a_benchmark_is_made_and_a_classifier_joins",
    "evaluation/cds/objects.html": HERE,
    "evaluation/cds/people.html": (
        "test_naming_frames::test_a_researcher_asks_and_a_person_names_one_frame_of_each_object"
    ),
    "evaluation/_models.html": (
        "test_models::test_an_administrator_uploads_a_model_and_removes_it"
    ),
    "evaluation/benchmark_models.html": ("test_models::test_a_model_becomes_a_submission_by_mouse"),
    "evaluation/models.html": "test_models::test_an_administrator_uploads_a_model_and_removes_it",
    "evaluation/pools.html": HERE,
    "evaluation/selection.html": "test_selections::test_a_pool_becomes_a_competition_by_mouse",
    "evaluation/selections.html": "test_selections::test_a_pool_becomes_a_competition_by_mouse",
    "evaluation/_release.html": "",
    "evaluation/release.html": "test_labels::test_a_release_is_reported_and_published",
    "evaluation/_splits.html": HERE,
    "evaluation/splits.html": HERE,
    "evaluation/submissions.html": (
        "test_cds_forms::test_a_benchmark_is_made_and_a_classifier_joins"
    ),
    # The toy of tests/evaluation/benchmarks/test_kinds.py is made by it.
    "evaluation/new.html": "",
    "evaluation/cds/viewer.html": "test_cds_pages::test_a_sequence_is_read_without_a_script",
    "evaluation/mad/gallery.html": HERE,
    "evaluation/labeled/images.html": HERE,
    "evaluation/labeled/label_sets.html": (
        "test_label_sets::test_mistakes_are_reviewed_and_every_number_says_its_version"
    ),
    "evaluation/labeled/new.html": HERE,
    "evaluation/truth.html": HERE,
    "labeling/_imports.html": HERE,
    "labeling/_jobs.html": HERE,
    "labeling/_picker_search.html": HERE,
    "labeling/_progress.html": HERE,
    "labeling/_release_labels.html": HERE,
    "labeling/_state_buttons.html": HERE,
    "labeling/audit.html": HERE,
    "labeling/boxes.html": "test_boxes_story::test_photographs_become_an_average_precision",
    "labeling/campaign_close.html": HERE,
    "labeling/campaign_edit.html": HERE,
    "labeling/campaign_new.html": "test_forms::test_a_selection_becomes_a_competition_by_mouse",
    "labeling/campaign_texts.html": (
        "test_languages::test_words_per_language_are_uploaded_and_read"
    ),
    "labeling/campaigns.html": HERE,
    "labeling/dataset.html": HERE,
    "labeling/dataset_labels.html": (
        "test_labels::test_known_labels_come_in_from_a_file_and_faults_name_their_line"
    ),
    "labeling/dataset_new.html": HERE,
    "labeling/dataset_report.html": HERE,
    "labeling/dataset_upload.html": HERE,
    "labeling/delete_image.html": "test_undo::test_an_image_is_removed_for_privacy",
    "labeling/flags.html": "test_flags::test_a_flag_survives_a_broken_network_and_is_answered",
    "labeling/gold.html": HERE,
    "labeling/gold_add.html": HERE,
    "labeling/gold_draw.html": (
        "test_review_parts::test_a_researcher_draws_gold_and_is_told_what_is_wrong"
    ),
    "labeling/gold_objects.html": HERE,
    "labeling/graph.html": HERE,
    "labeling/graph_node.html": HERE,
    "labeling/graph_price.html": (
        "test_graph_price::test_the_curve_is_looked_at_and_the_price_changed"
    ),
    "labeling/images.html": "test_images::test_images_are_browsed_saved_and_opened_by_keys",
    "labeling/jobs.html": HERE,
    "labeling/object.html": "test_objects::test_without_scripts_a_radius_is_tried_and_kept",
    "labeling/objects.html": HERE,
    "labeling/overlaps.html": ("test_review_boxes::test_overlaps_are_decided_by_mouse_and_by_key"),
    "labeling/parts_import.html": HERE,
    "labeling/parts_report.html": HERE,
    "labeling/people.html": HERE,
    "labeling/person.html": "test_new_parts_campaign::test_quotas_are_set_on_a_persons_page",
    "labeling/person_action.html": "test_quality::test_a_person_is_blocked_and_the_votes_come_back",
    "labeling/pilot.html": "test_quality::test_a_pilot_is_priced_asked_and_followed",
    "labeling/policy.html": HERE,
    "labeling/quality.html": HERE,
    "labeling/question.html": HERE,
    "labeling/questions.html": HERE,
    "labeling/questions_add.html": HERE,
    "labeling/release_objects.html": HERE,
    "labeling/release_label_options.html": (
        "test_release_objects::test_a_release_is_taken_out_with_options"
    ),
    "labeling/releases.html": HERE,
    "labeling/rename_archive_delete.html": (
        "test_undo::test_a_campaign_is_renamed_cloned_archived_and_deleted"
    ),
    "labeling/review.html": HERE,
    "labeling/review_boxes.html": (
        "test_review_boxes::test_a_reviewer_draws_every_box_and_says_that_it_is_all"
    ),
    "labeling/review_parts.html": "test_review_parts::test_a_reviewer_corrects_with_the_engine",
    "labeling/rights.html": "test_rights::test_an_administrator_grants_a_right_by_mouse",
    "labeling/tokens.html": HERE,
    "labeling/topic.html": HERE,
    "labeling/topics.html": HERE,
    "labeling/verification.html": (
        "test_candidates::test_a_class_is_stopped_and_resumed_and_rules_are_changed"
    ),
    "labeling/vocabulary.html": HERE,
    "labeling/vocabulary_category.html": HERE,
}


def test_every_form_is_pressed_by_a_browser_test():
    templates = Path(django_settings.BASE_DIR) / "templates"
    having = {
        str(path.relative_to(templates))
        for path in templates.rglob("*.html")
        if "<form" in path.read_text()
    }
    tests = {path.stem: path.read_text() for path in Path(__file__).parent.rglob("test_*.py")}

    assert set(PRESSED) == having
    for template, test in PRESSED.items():
        module, _, name = test.partition("::")
        assert not test or f"def {name}(" in tests[module], f"{template}: there is no {test}"


def picture(name: str = "new.png") -> dict[str, Any]:
    buffer = io.BytesIO()
    Pillow.new("RGB", (40, 30), (90, 120, 30)).save(buffer, "PNG")
    return {"name": name, "mimeType": "image/png", "buffer": buffer.getvalue()}


def text(name: str, content: str) -> dict[str, Any]:
    return {"name": name, "mimeType": "text/plain", "buffer": content.encode()}


@dataclass
class Step:
    """A form: where it is, which button ends it, what is filled in before, what follows.

    A value of `fill` is typed; a dict is chosen as a file; True is a press on the element.
    says: a text on the page that follows.
    """

    page: str
    button: str
    fill: dict[str, Any] = field(default_factory=dict)
    says: str = ""
    # Whether a script sends the form and shows what follows on the same page.
    stays: bool = False


CATEGORY = f"/datasets/hidden-lake/vocabulary/categories/{worlds.COOT}/"
STEPS = [
    # Campaigns, as the one who runs them.
    Step("/campaigns/", "Filter", {"[name=q]": "coots"}),
    Step("/campaigns/coots/edit/", "Save", {"#id_title": "Coots again"}, "Coots again"),
    Step("/campaigns/cats/edit/", "Switch to version"),
    Step("/campaigns/coots/", "Pause", says="The campaign is paused."),
    Step("/campaigns/coots/", "Resume", says="The campaign is open again."),
    Step("/campaigns/coots/", "Try again"),
    Step("/campaigns/coots/", "Freeze release"),
    Step("/campaigns/birds/", "Open campaign", says="The campaign is open"),
    Step("/campaigns/coots/jobs/", "Filter"),
    Step("/campaigns/coots/jobs/?state=failed", "Try again"),
    Step("/campaigns/coots/questions/", "Filter", {"[name=q]": "00"}),
    Step(
        "/campaigns/coots/questions/add/",
        "Add questions",
        {"#id_questions_file": text("more.csv", f"image,wnid\ncoots/006.png,{worlds.DRAKE}\n")},
        "1 question was added",
    ),
    Step("/campaigns/coots/questions/{question}/", "Use as gold", says="The question is now gold"),
    Step(
        "/campaigns/coots/questions/?state=settled",
        "Ask about the chosen questions",
        {"tr:last-child [name=question]": True, "[name=people]": "1"},
        "1 question asks 1 more person.",
    ),
    Step("/campaigns/coots/questions/{question}/", "Ask", says="1 question asks 2 more people."),
    Step("/campaigns/coots/questions/{asked}/", "Withdraw", says="The question is withdrawn."),
    Step("/campaigns/coots/topics/", "Search", {"[name=q]": "coot"}),
    Step(
        "/campaigns/coots/topics/",
        "Upload",
        {"#id_topics_file": text("classes.csv", f"{worlds.COOT},coot,a black bird\n")},
        "1 class was updated.",
    ),
    Step("/campaigns/coots/topics/{topic}/", "Save", {"#id_guidance": "Chicks count."}, "Saved."),
    Step("/campaigns/coots/topics/{topic}/", "Remove the example", says="The example was removed."),
    Step("/campaigns/coots/topics/{topic}/", "Search", {"[name=q]": "003"}),
    Step(
        "/campaigns/coots/topics/{topic}/",
        "Add example",
        {"label:has-text('coots/001.png')": True},
        "Annotators see the example",
    ),
    Step("/campaigns/coots/gold/add/", "Search", {"[name=q]": "coots"}),
    Step(
        "/campaigns/coots/gold/add/",
        "Add it",
        {
            "#picker label:has-text('coots/007.png')": True,
            "#id_topic": worlds.COOT,
            "#id_answer": "no",
        },
        "is gold now.",
    ),
    Step(
        "/campaigns/coots/gold/",
        "Upload",
        {"#id_gold_file": text("gold.csv", f"coots/005.png,{worlds.DRAKE},no,\n")},
        "1 gold question was added.",
    ),
    Step(
        "/campaigns/coots/gold/",
        "Draw images",
        {"#id_n": "1"},
        "1 image was drawn. Answer them as you see them.",
    ),
    Step("/campaigns/coots/gold/", "Retire", says="Retired."),
    Step("/campaigns/cats/gold/objects/", "Search"),
    Step("/campaigns/coots/people/", "Create invitation"),
    Step("/campaigns/coots/people/", "Withdraw the invitation"),
    Step("/campaigns/coots/people/", "Change the role of {bob}"),
    Step("/campaigns/coots/people/", "Remove {bob}"),
    Step("/campaigns/coots/review/?q={reviewed}", ".verdict button[value]"),
    Step("/campaigns/coots/audit/", "form[action*='/audit/'] button[name=value]"),
    Step("/campaigns/coots/audit/", "Draw sample", {"#id_n": "1"}),
    Step("/campaigns/coots/quality/", "Recompute reputations"),
    Step("/campaigns/coots/policy/", "Save rules", {"#id_votes": "2"}),
    Step("/campaigns/birds/graph/", "Search", {"[name=q]": "coot"}),
    Step("/campaigns/birds/graph/", "Load ILSVRC’s graph instead"),
    Step(
        "/campaigns/birds/graph/",
        "Use this graph",
        {"#id_graph_file": text("graph.json", json.dumps(worlds.GRAPH))},
        "of the graph is now active.",
    ),
    Step("/campaigns/birds/graph/nodes/bird/", "Save", {"#id_question": "Any bird?"}, "Saved, as"),
    Step("/campaigns/birds/close/", "Close permanently", says="The campaign is closed."),
    Step("/campaigns/coots/releases/", "Freeze release"),
    Step("/campaigns/cats/releases/1/objects/", "Filter"),
    Step(
        "/campaigns/coots/releases/{release}/splits/",
        "main form:not(.inline) >> Split",
        {"#id_by": "1/1"},
        "1/1, seed 0",
    ),
    Step("/campaigns/coots/releases/{release}/splits/", "Delete split", says="is deleted"),
    # Datasets.
    Step("/datasets/hidden-lake/", "Search", {"[name=q]": "coots"}),
    Step("/datasets/hidden-lake/", "Try again"),
    Step("/datasets/hidden-lake/imports/{import}/", "Try again"),
    Step("/datasets/hidden-lake/objects/", "Filter"),
    Step("/datasets/hidden-lake/objects/import/{parts import}/", "Try again"),
    Step("/datasets/hidden-lake/vocabulary/", "Use PASCAL-Part’s instead"),
    Step(CATEGORY.replace(worlds.COOT, "n02084071"), "Remove Dog"),
    Step("/datasets/new/", "Create dataset", {"#id_name": "harbour"}),
    Step("/datasets/harbour/objects/import/", "Use the built-in vocabulary"),
    Step("/datasets/harbour/upload/", "Import", {"#id_path": "incoming"}),
    Step(
        "/datasets/harbour/upload/", "Upload", {"#id_files": picture()}, "1 image added", stays=True
    ),
    Step("/datasets/hidden-lake/pools/", "Predict", {"[value=colours]": True}),
    # Benchmarks.
    Step("/benchmarks/coots/accuracies/", "Save and score", {"#id_accuracy_0": "71.3"}, "Saved."),
    Step("/benchmarks/reveal/", "Score now"),
    Step("/benchmarks/reveal/runs/{revealed}/sequences/", "Show"),
    Step("/benchmarks/maps/", "Score now"),
    Step("/benchmarks/maps/runs/{mapped}/images/", "Show"),
    Step("/benchmarks/maps/truth/", "Save", {"#id_min_images": "7"}, "Saved."),
    Step("/benchmarks/maps/submissions/", "Remove"),
    Step("/benchmarks/new/released/", "Show kinds", {"#id_campaign": "coots"}),
    Step("/tokens/", "Create token", {"#id_name": "script"}),
    Step("/tokens/", "Revoke script"),
    # The account, which ends the session.
    Step("/accounts/reauthenticate/?next=/", "Confirm", {"#id_password": "password"}),
    Step(
        "/accounts/password/change/",
        "Change password",
        {
            "#id_oldpassword": "password",
            "#id_password1": "a new one for coots",
            "#id_password2": "a new one for coots",
        },
    ),
    Step("/", "Log out"),
    Step(
        "/accounts/login/", "Log in", {"#id_login": "alice", "#id_password": "a new one for coots"}
    ),
    Step("/accounts/logout/", "main >> Log out"),
]


class Mouse:
    """Does what a person with a mouse does, and looks at what follows."""

    def __init__(self, page: Any, site: Any, parts: dict[str, Any]) -> None:
        self.page, self.site, self.parts = page, site, parts

    def do(self, step: Step) -> str:
        """What is wrong with the form; "" where its last button leads on."""
        try:
            return self._do(step)
        except Exception as error:
            return f"{step.page} {step.button}: {str(error)[:300]}"

    def _do(self, step: Step) -> str:
        self.page.goto(self.site(self._filled(step.page)), wait_until="domcontentloaded")
        for selector, value in step.fill.items():
            self._fill(self._opened(self.page.locator(selector).first), value)
        button = self._opened(self._button(self._filled(step.button)))
        if step.stays:
            button.click()
            self.page.get_by_text(step.says).first.wait_for()
            return ""
        with self.page.expect_navigation(wait_until="domcontentloaded") as leads:
            button.click()
        if step.says:
            self.page.get_by_text(step.says).first.wait_for()
        return self._faults(step, leads.value)

    def _faults(self, step: Step, response: Any) -> str:
        status = response.status if response else 0
        faults = self.page.locator(".has-error, main .message.error:not([data-kept])")
        messages = [" ".join(text.split())[:200] for text in faults.all_inner_texts()]
        if status >= 400 or (messages and not step.says):
            return f"{step.page} {step.button}: {status} {messages}"
        return ""

    def _button(self, name: str) -> Any:
        if re.match(r"[.\[a-z]", name):
            within, _, name = name.rpartition(" >> ")
            if not within:
                return self.page.locator(name).first
            return self.page.locator(within).get_by_role("button", name=name, include_hidden=True)
        button = self.page.get_by_role("button", name=name, include_hidden=True)
        return button.first

    def _opened(self, element: Any) -> Any:
        """The element, once everything folded around it is open."""
        folded = self.page.locator("details:not([open])").filter(has=element)
        while folded.count():
            folded.first.locator("> summary").click()
        return element

    def _fill(self, element: Any, value: Any) -> None:
        if value is True:
            element.click()
        elif isinstance(value, dict):
            element.set_input_files(value)
        elif element.evaluate("element => element.tagName") == "SELECT":
            element.select_option(value)
        else:
            element.fill(value)

    def _filled(self, words: str) -> str:
        return re.sub(r"\{(.*?)\}", lambda match: str(self.parts[match[1]]), words)


@pytest.fixture
def world(wordnet, settings, tmp_path):
    settings.ASSAY_IMPORT_ROOT = str(tmp_path)
    (tmp_path / "incoming").mkdir()
    (tmp_path / "incoming" / "boat.png").write_bytes(picture()["buffer"])
    world = worlds.build()
    meadow = Dataset.objects.get(name="meadow")
    vocabulary = vocabulary_store.read(vocabulary_store.in_force(meadow))
    first, *others = vocabulary.categories
    newer = replace(vocabulary, categories=(replace(first, guidance="All of it."), *others))
    vocabulary_store.add_version(meadow, newer, world.alice)
    # Hashed as the site does it: the first check of another hash would end the session.
    world.alice.set_password("password")
    world.alice.save(update_fields=["password"])
    # A second of what the forms of two pages try again.
    failed = {"state": "failed", "error": "It broke."}
    Job.objects.create(kind="score", key="run 00", campaign=world.campaign, **failed)
    job = Job.objects.create(kind="import images", key="2", **failed)
    Import.objects.create(dataset=world.dataset, name="bay.zip", created_by=world.alice, job=job)
    default_storage.save("parts/gone", ContentFile(b"no zip"))
    return world


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_every_form_reaches_its_last_button(browser_as, site, world):
    question_pk = world.campaign.questions.filter(state=Question.State.OPEN).earliest("pk").pk
    parts = world.parts | {"asked": question_pk, "bob": world.bob.pseudonym}
    mouse = Mouse(browser_as(world.alice), site, parts)

    faults = [fault for step in STEPS if (fault := mouse.do(step))]

    assert not faults, "\n".join(faults)


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_a_new_campaign_takes_gold_by_mouse(page, site, dataset, wordnet):
    """The first line of the gold names an image that the dataset lacks."""
    for number in range(3):
        factories.make_image(dataset, f"{number}.png")
    lines = "".join(f"{number}.png,{worlds.COOT}\n" for number in range(3))
    form = Step(
        "/campaigns/new/",
        "Create draft",
        {
            "#id_title": "Coots",
            "#id_dataset": str(dataset.pk),
            "#id_questions": f"image,wnid\n{lines}",
            "#id_gold": f"image,wnid,answer\n9.png,{worlds.COOT},yes\n",
        },
    )
    mouse = Mouse(page, site, {})

    assert "9.png" in mouse.do(form)
    page.fill("#id_gold", f"image,wnid,answer\n2.png,{worlds.COOT},yes\n")
    page.get_by_role("button", name="Create draft").click()

    page.wait_for_url("**/campaigns/coots/**")
    states = Question.objects.values_list("item__image__name", "state").order_by("pk")
    assert dict(states) == {"0.png": "open", "1.png": "open", "2.png": "gold"}


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_a_selection_becomes_a_competition_by_mouse(page, site, dataset, wordnet):
    """By way of New campaign, which is the wrong form for it, and with a fault on the way."""
    lines = crowd.lines()
    crowd.add_images(dataset, lines)
    page.goto(site("/campaigns/new/"))
    page.fill("#id_title", "Birds")
    page.select_option("#id_dataset", label=dataset.name)
    selection = text("selection.jsonl", "\n".join(json.dumps(line) for line in lines))
    page.set_input_files("#id_questions_file", selection)
    page.click("text=Create draft")

    page.click("text=Create a MAD competition instead")
    page.get_by_text("Kept: selection.jsonl").wait_for()
    assert page.input_value("#id_title") == "Birds"
    page.fill("#id_name", "Two words")
    page.get_by_role("button", name="Preview").click()
    page.locator(".has-error").wait_for()
    page.fill("#id_name", "birds")
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("Counts and cost").wait_for()
    page.get_by_role("button", name="Create benchmark").click()

    page.wait_for_url("**/benchmarks/birds/**")
    assert Benchmark.objects.get().campaign.state == Campaign.State.DRAFT

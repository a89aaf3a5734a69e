"""Facts of a published release, and the sentences in which its documents state them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from labeling.kinds.base import BOXES, OBJECTS
from labeling.plurals import count_of
from labeling.release_files.frozen import PolicyHead

UNKNOWN = "unknown"
NOT_STATED = "Unknown: the researchers stated nothing about this on the site."
TASKS = {OBJECTS: "image-segmentation", BOXES: "object-detection"}
TASK = "image-classification"


@dataclass
class Facts:
    """Facts of a release, and counts of its published rows.

    started, frozen: ISO dates; started is "" if unknown. licences: images by licence. values:
    labels by value. people: votes by pseudonym. sealed: images left out because a split seals them.
    stated_error, stated_boxes, policies: as in release.json.
    """

    name: str
    title: str
    kind: str
    release: str
    number: int
    sha256: str
    frozen: str
    dataset: str
    instructions: str
    classes: Mapping[str, str]
    policies: Sequence[PolicyHead]
    stated_error: Mapping[str, Any] | None
    stated_boxes: Mapping[str, object] | None
    open_questions: int
    code_version: str
    with_images: bool
    started: str = ""
    images: int = 0
    labels: int = 0
    objects: int = 0
    votes: int = 0
    sealed: int = 0
    licences: Counter[str] = field(default_factory=Counter)
    values: Counter[str] = field(default_factory=Counter)
    people: Counter[str] = field(default_factory=Counter)

    @property
    def task(self) -> str:
        """Return Hugging Face's name of the task."""
        return TASKS.get(self.release, TASK)

    @property
    def error(self) -> str:
        """Return the stated error of the labels with its basis, or that it is unknown."""
        stated = self.stated_error or {}
        if not stated.get("basis") or not stated.get("interval"):
            return "Label error: unknown. It was not measured on gold or audited questions."
        low, high = stated["interval"]
        value = stated.get("value")
        estimate = "" if value is None else f"{value:.4f}, "
        return (
            f"Label error: {estimate}90 % interval {low:.4f} to {high:.4f}, measured on "
            f"{stated['basis']} questions."
        )

    @property
    def policy(self) -> Mapping[str, Any]:
        """Return the content of the latest policy."""
        return self.policies[-1]["content"] if self.policies else {}

    @property
    def licence_rows(self) -> list[tuple[str, int]]:
        """Return (licence, images) with the most frequent licence first."""
        return sorted(self.licences.items(), key=lambda row: (-row[1], row[0]))

    def statements(self) -> dict[str, str]:
        """Return the text of every Responsible-AI field of Croissant, by its name."""
        policy = self.policy
        votes = policy.get("votes", 1)
        per_image = f"{self.votes / self.images:.2f}" if self.images else "0"
        busiest = max(self.people.values(), default=0)
        share = f"{100 * busiest / self.votes:.0f} %" if self.votes else "0 %"
        counts = ", ".join(f"{count} {value}" for value, count in sorted(self.values.items()))
        licences = "; ".join(f"{name}: {count}" for name, count in self.licence_rows)
        unsettled = count_of(self.open_questions, "question")
        sealed = (
            f" {count_of(self.sealed, 'image')} in sealed parts of splits left out."
            if self.sealed
            else ""
        )
        return {
            "dataCollection": (
                f"{count_of(self.images, 'image')} of the dataset {self.dataset}. Licence and "
                f"source are stated for each image. Images by licence: {licences or 'none'}."
            ),
            "dataCollectionType": "Manual Human Curator",
            "dataCollectionMissingData": (
                f"{unsettled} had no settled answer when the release was frozen. Labels of such "
                f"questions are missing or unknown, never no.{sealed}"
            ),
            "dataCollectionRawData": (
                f"{count_of(self.votes, 'vote')} in data/votes.parquet, each with the pseudonym of "
                "its annotator."
            ),
            "dataPreprocessingProtocol": (
                "Images are upright and without metadata, as the annotators saw them."
                if self.with_images
                else "The images are not included."
            ),
            "dataAnnotationProtocol": (
                f"{self.title}. Instructions: {self.instructions or 'none'} "
                f"Votes were combined by {policy.get('method', 'majority')}, {votes} per question, "
                f"at most {policy.get('max_votes', votes)}. The whole policy is in datasheet.md."
            ),
            "dataAnnotationPlatform": f"Assay {self.code_version}",
            "dataAnnotationAnalysis": f"{self.error} Labels: {counts or 'none'}.",
            "annotationsPerItem": f"{per_image} votes per image on average.",
            "annotatorDemographics": (
                f"{count_of(len(self.people), 'annotator')}. Their demographics are unknown."
            ),
            "dataBiases": (
                f"The most active annotator gave {share} of the votes. How the images were chosen "
                "is not known beyond their stated source."
            ),
            "dataUseCases": (
                f"Training and evaluation of {self.task.replace('-', ' ')} on "
                f"{count_of(len(self.classes), 'class', 'classes')}. Other uses were not examined."
            ),
            "dataLimitations": f"{self.error} {unsettled} had no settled answer.{sealed}",
            "dataSocialImpact": NOT_STATED,
            "personalSensitiveInformation": (
                "Annotators have random names made for this release; user names are not included. "
                "Whether photographs show people is unknown."
            ),
            "dataReleaseMaintenancePlan": (
                f"Release {self.number}, SHA-256 {self.sha256}. Changed labels become a new "
                "release; this one does not change."
            ),
        }

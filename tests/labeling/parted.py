"""Objects with parts on small photographs, and a campaign that asks for the parts still missing."""

from typing import Any

from labeling.campaigns import lifecycle
from labeling.datasets import objects, vocabulary_store
from labeling.exchange import part_campaigns
from labeling.geometry.polygons import Polygons
from labeling.models import Campaign, Dataset, Question, User
from labeling.parts.model import Part, PartedObject
from tests import factories

CAT, COW = "n02121620", "n01887787"
VOCABULARY: dict[str, Any] = {
    "title": "Small animals",
    "categories": [
        {
            "key": CAT,
            "name": "cat",
            "guidance": "Cats hide their legs.",
            "parts": [
                {"key": "head", "name": "head", "guidance": "With the ears."},
                {"key": "torso", "name": "torso", "holes": True},
                {"key": "leg", "name": "leg", "several": True},
                {"key": "tail", "name": "tail"},
            ],
        },
        {
            "key": COW,
            "name": "cow",
            "parts": [
                {"key": "head", "name": "head"},
                {"key": "horn", "name": "horn", "several": True},
            ],
        },
    ],
}
# A photograph of factories has 64 x 48 pixels.
BOX = (8, 6, 56, 42)


def square(x0: float, y0: float, x1: float, y1: float) -> Polygons:
    """One piece with straight sides."""
    return (((((x0, y0), (x1, y0), (x1, y1), (x0, y1))),),)


def drawn(**parts: Polygons | str) -> dict[str, Any]:
    """An answer: polygons of each part, or "not_visible" or "occluded"."""
    answer = {
        key: {"state": value}
        if isinstance(value, str)
        else {"state": "drawn", "polygons": _nested(value)}
        for key, value in parts.items()
    }
    return {"parts": answer, "half": True}


def _nested(polygons: Polygons) -> list[Any]:
    return [[[list(point) for point in ring] for ring in piece] for piece in polygons]


def cat(image: str, **fields: Any) -> PartedObject:
    """A cat of which the import knows the head."""
    head = Part("head", square(10, 8, 22, 20))
    return PartedObject(image=image, category=CAT, box=BOX, parts=(head,), **fields)


def objects_in(dataset: Dataset, count: int = 3) -> list[PartedObject]:
    """That many cats on photographs of their own, put into the dataset with its vocabulary."""
    if vocabulary_store.current(dataset) is None:
        vocabulary_store.add_version(dataset, VOCABULARY, dataset.owner)
    names = [f"cats/{index}.png" for index in range(count)]
    for name in names:
        factories.make_image(dataset, name)
    cats = [cat(name) for name in names]
    objects.put(dataset, cats, "the importer", words={CAT: "cat", COW: "cow"})
    return cats


def parts_campaign(
    owner: User,
    dataset: Dataset,
    *,
    name: str = "cats",
    count: int = 3,
    policy: dict[str, Any] | None = None,
    launch: bool = True,
    **flags: bool,
) -> Campaign:
    """An open campaign that asks for the parts of that many cats; people wait for no gold."""
    objects_in(dataset, count)
    campaign = part_campaigns.draft(
        owner,
        dataset,
        name=name,
        title=name.title(),
        policy={"gold_share": 0} | (policy or {}),
        settings=flags,
    )
    if launch:
        lifecycle.launch(campaign, owner)
    return campaign


def question(campaign: Campaign, number: int = 0) -> Question:
    return campaign.questions.get(item__image__name=f"cats/{number}.png")

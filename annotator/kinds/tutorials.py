"""The tutorial of each kind of question: three made-up questions with their answers.

Pictures are in static/tutorial/ and in no dataset, so they can never be gold.
"""

from dataclasses import dataclass

from django.utils.translation import gettext_noop as _

Box = tuple[int, int, int, int]
Points = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class TutorialPicture:
    """A file of static/tutorial/ with its size in pixels and its alt text."""

    file: str
    width: int
    height: int
    alt: str


@dataclass(frozen=True)
class TutorialShape:
    """An outline over the picture, in its pixels. label: the letter beside it."""

    points: Points
    label: str = ""

    @property
    def svg_points(self) -> str:
        return " ".join(f"{x},{y}" for x, y in self.points)


@dataclass(frozen=True)
class TutorialItem:
    """A tutorial question. choices: value, words and key of each button, as on the kind's page;
    right: the value of the answer.
    """

    question: str
    picture: TutorialPicture
    choices: tuple[tuple[str, str, str], ...]
    right: str
    why: str
    shapes: tuple[TutorialShape, ...] = ()


Items = tuple[TutorialItem, TutorialItem, TutorialItem]


def _box(box: Box, label: str = "") -> TutorialShape:
    x0, y0, x1, y1 = box
    return TutorialShape(((x0, y0), (x1, y0), (x1, y1), (x0, y1)), label)


CAT = TutorialPicture(
    "cat.webp", 451, 300, _("The face of a cat; one ear reaches out of the picture")
)
CUP = TutorialPicture(
    "cup.webp", 480, 320, _("A cup of coffee on a saucer, with a small spoon beside it")
)
ROCKET = TutorialPicture("rocket.webp", 480, 320, _("A rocket on its pad at night"))
BLURRED = TutorialPicture(
    "blurred.webp", 480, 320, _("A picture so blurred that only colours are left")
)

YES_NO = (("yes", _("Yes"), "y"), ("no", _("No"), "n"), ("hard", _("Too hard to tell"), "h"))
MARK = (("mark", _("Mark it"), "1"), ("leave", _("Leave it"), "2"), ("tick", _("Too hard"), "3"))
BOX_A_B = (("a", _("Box A"), "a"), ("b", _("Box B"), "b"))
OUTLINE_A_B = (("a", _("Outline A"), "a"), ("b", _("Outline B"), "b"))
CUP_BOX: Box = (136, 11, 328, 250)
EYE: Points = (
    (132, 112),
    (140, 94),
    (158, 85),
    (178, 86),
    (196, 98),
    (208, 120),
    (206, 142),
    (186, 147),
    (160, 143),
    (140, 130),
)

CONTAINS: Items = (
    TutorialItem(
        _("Does this image contain a cat?"),
        CAT,
        YES_NO,
        "yes",
        _("A part is enough: the whole cat need not be in the picture."),
    ),
    TutorialItem(
        _("Does this image contain a spoon?"),
        CUP,
        YES_NO,
        "yes",
        _(
            "It is small and partly hidden behind the cup, but it is there. Look at the edges, and "
            "zoom in."
        ),
    ),
    TutorialItem(
        _("Does this image contain a teapot?"),
        BLURRED,
        YES_NO,
        "hard",
        _(
            "Nobody can tell here. “Too hard to tell” is better than a guess, and counts as "
            "neither."
        ),
    ),
)
GRID: Items = (
    TutorialItem(
        _("Which images contain a cat? What do you do with this one?"),
        CAT,
        MARK,
        "mark",
        _("Mark every image that contains it, whole or in part."),
    ),
    TutorialItem(
        _("Which images contain a cat? What do you do with this one?"),
        ROCKET,
        MARK,
        "leave",
        _("Untouched images count as no once you press Done, so look at each image first."),
    ),
    TutorialItem(
        _("Which images contain a spoon? What do you do with this one?"),
        CUP,
        MARK,
        "mark",
        _("It is small: the arrows ⤢ on an image enlarge it without losing your place."),
    ),
)
NAMING: Items = (
    TutorialItem(
        _("What does the image show?"),
        CAT,
        (("cat", _("Cat"), "1"), ("dog", _("Dog"), "2"), ("none", _("None of these"), "n")),
        "cat",
        _("Choose the class of what you see, not of what it may be part of."),
    ),
    TutorialItem(
        _("What does the image show?"),
        ROCKET,
        (("cat", _("Cat"), "1"), ("cup", _("Cup"), "2"), ("none", _("None of these"), "n")),
        "none",
        _("No class in the list fits. Choose “None of these”, not the nearest class."),
    ),
    TutorialItem(
        _("What does the image show?"),
        BLURRED,
        (("cat", _("Cat"), "1"), ("cup", _("Cup"), "2"), ("hard", _("Too hard to tell"), "h")),
        "hard",
        _("Nobody can tell here. “Too hard to tell” is better than a guess."),
    ),
)
_MISTAKE_CHOICES = (
    ("valid", _("Right"), "r"),
    ("minor", _("Minor mistake"), "m"),
    ("major", _("Major mistake"), "j"),
)
MISTAKE: Items = (
    TutorialItem(
        _("Is “espresso” right for this image?"),
        CUP,
        _MISTAKE_CHOICES,
        "valid",
        _("It is in the image and fits the definition, even if there are other objects too."),
    ),
    TutorialItem(
        _("Is “teapot” right for this image?"),
        CUP,
        _MISTAKE_CHOICES,
        "minor",
        _("There is none, but a cup of coffee is close enough to explain the mistake."),
    ),
    TutorialItem(
        _("Is “cat” right for this image?"),
        ROCKET,
        _MISTAKE_CHOICES,
        "major",
        _("Nothing in the image is like it. You never see whose answer it was."),
    ),
)
BOXES: Items = (
    TutorialItem(
        _("Which box is right for the cup?"),
        CUP,
        BOX_A_B,
        "a",
        _(
            "The smallest box around everything visible of the cup, including its handle. The "
            "saucer is not part of it."
        ),
        (_box(CUP_BOX, "A"), _box((60, 18, 384, 312), "B")),
    ),
    TutorialItem(
        _("Is this box good for the cup?"),
        CUP,
        (
            ("good", _("Good"), "g"),
            ("loose", _("Too loose"), "1"),
            ("cropping", _("Cuts off a part"), "2"),
        ),
        "cropping",
        _(
            "The handle is outside. Say why a box is not good, so that the next one is drawn "
            "better."
        ),
        (_box((136, 11, 328, 168)),),
    ),
    TutorialItem(
        _("Is every spoon boxed? The box is around the cup."),
        CUP,
        (("complete", _("Yes, every one"), "y"), ("missing", _("No, one is missing"), "n")),
        "missing",
        _("The spoon has no box yet. Click each missing object once."),
        (_box(CUP_BOX),),
    ),
)
PARTS: Items = (
    TutorialItem(
        _("Which outline is right for the eye?"),
        CAT,
        OUTLINE_A_B,
        "a",
        _("The outline follows the visible edge. B includes much of the face."),
        (TutorialShape(EYE, "A"), _box((112, 66, 226, 166), "B")),
    ),
    TutorialItem(
        _("What do you answer for the tail?"),
        CAT,
        (
            ("draw", _("Draw it"), "1"),
            ("not_visible", _("Not visible"), "2"),
            ("occluded", _("Occluded"), "3"),
        ),
        "not_visible",
        _("The picture ends before the tail. “Occluded” is for parts behind something else."),
    ),
    TutorialItem(
        _("What do you do with the ear that reaches out of the picture?"),
        CAT,
        (
            ("visible", _("Outline what is visible"), "1"),
            ("guess", _("Guess the rest"), "2"),
            ("skip", _("Leave it"), "3"),
        ),
        "visible",
        _("Outline what is visible, to the edge of the picture and not beyond."),
    ),
)
BY_KIND = {
    "contains": CONTAINS,
    "hierarchy": GRID,
    "candidates": GRID,
    "naming": NAMING,
    "mistake": MISTAKE,
    "boxes": BOXES,
    "parts": PARTS,
}

"""Words for the scores, rules and schemes of CDS on pages, in forms, figures and commands. Pure."""

from evaluation.metrics.frames.foveation import CONTENT_SCHEMES

SCORES = {"cds": "CDS", "b_cds": "B-CDS"}
ERRORS = {"frames": "all frames", "whole": "whole objects"}
AVERAGING = {
    "text": "median over images, mean over part schemes, mean over categories",
    "script": "median over images and part schemes pooled, median over categories",
}
# Names of the values of `form` in the table of hardness.
HARDNESS = {"content_scheme": "content scheme", "classifier": "classifier"}
PART_SCHEME_WORDS = {
    "E_U": "fixations on the part",
    "E_US": "fixations, the earlier the heavier",
    "E_A": "fixations by area",
    "E_AS": "early fixations by area",
    "random": "shuffled by the seed",
}
CONTENT_SCHEME_NAMES = {
    "intra-object": "object only",
    "intra-object-and-neighbourhood": "with neighbourhood",
    "low": "low detail",
    "higher": "higher detail",
}
CONTENT_SCHEME_WORDS = {
    "intra-object": "parts on black",
    "intra-object-and-neighbourhood": "parts in a black box, the image around it",
    "low": "all there, blurred strongly away from the parts",
    "higher": "all there, blurred less",
}


def content_scheme(key: str) -> str:
    """Return the name of a content scheme; one from a user's file is unchanged.

    >>> content_scheme("low"), content_scheme("mine")
    ('low detail', 'mine')
    """
    return CONTENT_SCHEME_NAMES.get(key, key)


def content_choices() -> list[tuple[str, str]]:
    """Return (key, label) choices for a form; the label says what a frame shows."""
    return [
        (key, f"{content_scheme(key).capitalize()} ({key}): {CONTENT_SCHEME_WORDS[key]}")
        for key in CONTENT_SCHEMES
    ]

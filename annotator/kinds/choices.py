"""Pages of kinds with plain choices, which need no template and no script of their own."""

from annotator.kinds.base import Page
from labeling.kinds import Kind


class Choices(Page):
    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self.pieces = "annotator/kinds/choices.html"
        self.script = "js/kinds/contains.js"

"""WordNet meanings of the categories of sequences and the classes of predictions. No Django."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.wordnet.gloss_vectors import NOTE
from evaluation.metrics.wordnet.nouns import WNID, UnknownLabel, WordNet, WordNetMissing
from evaluation.metrics.wordnet.similarity import as_word, instances, meant, similarity_matrix
from evaluation.readers.frame_predictions import NOT_ASKED, FramePredictions
from evaluation.readers.sequences import SequenceLine
from labeling.files import BadInput


class Meanings:
    """The synsets of categories and classes."""

    def __init__(
        self,
        wordnet: WordNet,
        lines: Sequence[SequenceLine],
        predictions: FramePredictions,
        measure: str,
        convention: str,
        by: str,
    ) -> None:
        self.wordnet, self.predictions = wordnet, predictions
        self.measure, self.convention, self.by = measure, convention, by
        # Category as written in the sequences → its first line.
        self.lines = {line.category: line.line for line in reversed(lines)}
        self.exact = [self._class(number) for number in range(len(predictions.classes))]
        # The synset that each class is compared as; by word it is often another one.
        self.meant = [as_word(wordnet, i) for i in self.exact] if by == "word" else self.exact

    def similarities(self, categories: list[str]) -> NDArray[np.float64]:
        """Return (categories, classes + 2) in [0, 1]; the last two, NOTHING and NOT_ASKED,
        are 0.
        """
        rows = [self._category(name) for name in categories]
        try:
            matrix = similarity_matrix(
                self.wordnet, rows, self.meant, self.measure, self.convention
            )
        except WordNetMissing as missing:
            raise BadInput(missing.message, cure=missing.cure) from missing
        # Rounding may put cosines slightly above 1.
        return np.pad(np.clip(matrix, 0, 1), ((0, 0), (0, -NOT_ASKED)))

    def is_right(self, categories: list[str], mapping: dict[str, list[str]]) -> NDArray[np.bool_]:
        """Return (categories, classes + 2): whether a class is right for a category."""
        is_right = np.zeros((len(categories), len(self.exact) - NOT_ASKED), bool)
        for row, category in enumerate(categories):
            wnids = self._mapped(category, mapping)
            allowed = {self.wordnet.index(wnid) for wnid in wnids}
            is_right[row, : len(self.exact)] = [index in allowed for index in self.exact]
        return is_right

    def names(self) -> dict[str, str]:
        """Return class → first lemma."""
        both = zip(self.predictions.classes, self.exact, strict=True)
        return {name: self.wordnet.first_lemma(i) for name, i in both}

    def categories(self, categories: list[str]) -> dict[str, str]:
        """Return category → name: the first lemma of a wnid, other categories unchanged."""
        return {
            name: self.wordnet.first_lemma(self._category(name)) if WNID.fullmatch(name) else name
            for name in categories
        }

    def instances(self, categories: list[str]) -> list[str]:
        """Return the wnids of instances among the synsets of categories and classes."""
        return instances(self.wordnet, [*map(self._category, categories), *self.meant])

    def notes(self, allowed: NDArray[np.bool_] | None) -> list[str]:
        """Return notes on the similarities and the mapping."""
        notes = [NOTE] if self.measure.startswith("vector") else []
        notes += self._instances_by_word()
        if allowed is not None and not allowed.any():
            notes.append(
                "no predicted class is in the mapping, so that every answer is wrong: does the "
                "mapping list the classes that the classifiers were trained for?"
            )
        return notes

    def _instances_by_word(self) -> list[str]:
        """Return a note with the classes whose first sense is an instance."""
        class_notes = [
            f"{self.predictions.classes[number]} ({self.wordnet.first_lemma(exact)}) as "
            f"{self.wordnet.name(meant)}"
            for number, (exact, meant) in enumerate(zip(self.exact, self.meant, strict=True))
            if exact != meant and self.wordnet.is_instance(meant)
        ]
        if not class_notes:
            return []
        return [f"by word, these classes are compared as instances: {', '.join(class_notes)}"]

    def _mapped(self, category: str, mapping: dict[str, list[str]]) -> list[str]:
        """Return the wnids of a category, which the mapping may spell otherwise (dog.n.01,
        n02084071).
        """
        if category in mapping:
            return mapping[category]
        meant_by = self._category(category)
        for name, wnids in mapping.items():
            try:
                if meant(self.wordnet, name, self.by) == meant_by:
                    return wnids
            except UnknownLabel:
                continue
        raise BadInput(
            f"the mapping has no class for the category {category!r}",
            line=self.lines[category],
            cure=f"add rows {category},WNID to the mapping, or score without one",
        )

    def _category(self, name: str) -> int:
        try:
            return meant(self.wordnet, name, self.by)
        except UnknownLabel as unknown:
            cure = "give a wnid such as n02084071"
            if unknown.candidates:
                cure = "give one of these wnids, or take first senses with --by word"
            raise BadInput(str(unknown), line=self.lines[name], cure=cure) from unknown

    def _class(self, number: int) -> int:
        wnid = self.predictions.classes[number]
        try:
            return self.wordnet.index(wnid)
        except UnknownLabel:
            raise BadInput(
                f"{wnid!r} is not a noun of WordNet 3.0",
                *self.predictions.origin(number),
                "give a wnid such as n02084071, or leave it empty",
            ) from None

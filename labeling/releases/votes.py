"""The votes of a release: who gave which answer, under names that belong to that release alone."""

import hmac
import json
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from django.conf import settings

from labeling.kinds import Kind
from labeling.models import Answer, Settlement
from labeling.release_files.frozen import Line, LineFile


class Votes:
    """The votes as they come, with what is counted of them; named once they are all there."""

    def __init__(self, folder: Path) -> None:
        # With row ids in place of people: pseudonyms are made of a digest of all of them.
        self.raw = LineFile(folder / "votes.raw")
        self.people: set[int] = set()
        self.counts: Counter[str] = Counter()

    def write(
        self, kind: Kind, place: Line, settlement: Settlement | None, answers: list[Answer]
    ) -> dict[str, int]:
        """How many gave which answer, of those that count; the votes themselves are kept."""
        counted = {str(key) for key in settlement.answers} if settlement else set()
        votes: Counter[str] = Counter()
        rows = []
        for answer in answers:
            is_counted = str(answer.pk) in counted
            if not (is_counted or answer.late):
                continue
            if is_counted:
                votes[kind.tally_name(answer.value)] += 1
            self.people.add(answer.assignment.annotator_id)
            self.counts["late" if answer.late else "votes"] += 1
            rows.append(
                place
                | {
                    "annotator": answer.assignment.annotator_id,
                    "counted": is_counted,
                    "duration_ms": answer.duration_ms,
                    "late": answer.late,
                    "revision": answer.revision,
                    "value": answer.value,
                }
            )
        for row in sorted(rows, key=lambda row: (row["annotator"], row["revision"])):
            self.raw.write(row)
        return dict(votes)

    def name_people(self, goal: LineFile) -> None:
        """The votes into their file, each person under a name of this release alone.

        The names come of a keyed digest of the content: two releases cannot be joined by them,
        nobody without the site's key can compute them, and equal content still gives equal bytes.
        """
        self.raw.close()
        key = settings.SECRET_KEY.encode()
        content = hmac.digest(key, b"release " + self.raw.hash.digest(), "sha256")
        names = {person: f"annotator-{_digest(content, person)}" for person in self.people}
        with open(self.raw.path, "rb") as raw:
            for rows in _by_question(raw):
                # By name: the order in which people joined would tell who is who.
                rows.sort(key=lambda row: (names[row["annotator"]], row["revision"]))
                for row in rows:
                    goal.write(row | {"annotator": names[row["annotator"]]})
        self.raw.path.unlink()


def _digest(key: bytes, person: int) -> str:
    return hmac.new(key, str(person).encode(), "sha256").hexdigest()[:10]


def _by_question(raw: Any) -> Iterator[list[Line]]:
    def asked(row: Line) -> tuple[Any, ...]:
        return row["image"], row.get("object"), row.get("node", row["wnid"])

    for _, rows in groupby(map(json.loads, raw), asked):
        yield list(rows)

"""The votes of a release under pseudonyms that belong to this release alone."""

import hmac
import json
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings

from labeling.json_text import canonical
from labeling.kinds import Kind
from labeling.release_files.frozen import Line, LineFile


class FrozenVote(NamedTuple):
    """An answer as a line of votes.jsonl."""

    pk: str
    annotator: int
    value: Any
    duration_ms: int | None
    late: bool
    revision: int


class FrozenVotes:
    """The votes of a chunk, with user ids in place of pseudonyms, and their counts.

    INDEX has a line for each question (all its rounds): annotator, revision and number of bytes of
    each vote. So name_people sorts and renames the votes without parsing them.
    """

    RAW, INDEX = "votes.raw", "votes.index"

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self.raw = opened.enter_context(LineFile(folder / self.RAW))
        self.index = opened.enter_context(LineFile(folder / self.INDEX))
        self.people: set[int] = set()
        self.counts: Counter[str] = Counter()
        self.subject: Line = {}
        self.rows: list[tuple[int, int, int]] = []

    def write(
        self, kind: Kind, subject: Line, counted: Collection[str], votes: Iterable[FrozenVote]
    ) -> dict[str, int]:
        """Write these votes, late ones too, and return the tally of the counted answers.

        counted: ids of the answers that settled the question.
        """
        votes = sorted(votes, key=lambda vote: (vote.annotator, vote.revision))
        if votes and subject != self.subject:
            self._end()
            self.subject = subject
        counts_by_answer: Counter[str] = Counter()
        for vote in votes:
            is_counted = vote.pk in counted
            if is_counted:
                counts_by_answer[kind.tally_name(vote.value)] += 1
            self.people.add(vote.annotator)
            self.counts["late" if vote.late else "votes"] += 1
            size = self.raw.write(
                subject
                | {
                    "annotator": vote.annotator,
                    "counted": is_counted,
                    "duration_ms": vote.duration_ms,
                    "late": vote.late,
                    "revision": vote.revision,
                    "value": vote.value,
                }
            )
            self.rows.append((vote.annotator, vote.revision, size))
        return dict(counts_by_answer)

    def close(self) -> None:
        self._end()
        self.raw.close()
        self.index.close()

    def _end(self) -> None:
        if self.rows:
            self.index.write(self.rows)
        self.rows = []


def name_people(folder: Path, digest: bytes, people: Iterable[int], goal: LineFile) -> None:
    """Write the votes of the folder to `goal`, each person under a pseudonym of this release.

    The pseudonyms are a keyed digest of the content: two releases cannot be joined by them, nobody
    without the site's key can compute them, and equal content gives equal bytes.
    """
    key = hmac.digest(settings.SECRET_KEY.encode(), b"release " + digest, "sha256")
    names = {person: f"annotator-{_digest(key, person)}" for person in people}
    # Keys of a line are sorted, so "annotator" comes first.
    before = {person: canonical({"annotator": person})[:-1] for person in names}
    after = {person: canonical({"annotator": name})[:-1] for person, name in names.items()}
    with (
        open(folder / FrozenVotes.RAW, "rb") as raw,
        open(folder / FrozenVotes.INDEX, "rb") as index,
    ):
        for row in index:
            votes = []
            for person, revision, size in json.loads(row):
                line = raw.read(size)
                assert line.startswith(before[person]), "a vote names its annotator first"
                line_with_name = after[person] + line[len(before[person]) :]
                votes.append((names[person], revision, line_with_name))
            # By name: the order in which people joined would reveal who is who.
            votes.sort(key=lambda vote: vote[:2])
            goal.append(b"".join([line_with_name for *_, line_with_name in votes]), len(votes))


def _digest(key: bytes, person: int) -> str:
    return hmac.new(key, str(person).encode(), "sha256").hexdigest()[:10]

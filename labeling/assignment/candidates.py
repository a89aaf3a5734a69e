"""Reading the lanes: the questions that a person could get next, from their cursors onward.

This module neither locks nor writes. A question that gains a seat gets a new ticket, and tickets
become visible in order, so a reader never needs to go back to questions that were seen or full.
"""

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, NamedTuple

from django.utils.crypto import salted_hmac
from django.utils.translation import gettext, gettext_noop

from labeling.db.sql import fetch, fetch_prepared, marks
from labeling.errors import NotYours
from labeling.kinds import KINDS, policies
from labeling.models import Campaign, Question, User

RETURNED, FRESH, GOLD = Question.Lane.RETURNED, Question.Lane.FRESH, Question.Lane.GOLD
NOT_A_MEMBER = gettext_noop("There is no such campaign, or you were not invited to it.")
# Every fourth page starts with fresh questions, so that returned ones cannot block them for ever.
FRESH_EVERY = 4
# Candidates read per missing seat, since others may take some first.
OVERSAMPLE = 3
# Most rows of a window. It grows while the person has seen nearly all of its rows.
WIDEST_WINDOW = 5_000
# Rows read of one topic in one lane, or of gold: a page may be short of these, never empty.
ENOUGH_ROWS = 800
# Rows read of seats that this person gave back or let expire.
MAX_REUSABLE = 1_000
# Ordinary questions used to decide whether gold given back before them would still have a seat.
NEXT_ORDINARY = 10


@dataclass(frozen=True)
class LaneReader:
    """A member, their cursor in each lane, and the campaign's current state.

    by_topic: pages hold questions of one topic. share: share of gold. quota: remaining questions by
    topic; None without a quota. is_over: whether the campaign's deadline has passed.
    """

    membership_id: int
    user_id: int
    campaign_id: int
    cursors: tuple[int, int, int]
    pages: int
    answered: int
    role: str
    stage: str
    share: float
    state: str
    floors: tuple[int, int]
    last_ticket: int
    questions_asked: int
    questions_free: int
    counted_at: datetime | None
    policy: policies.WholePolicy
    by_topic: bool
    quota: dict[str, int] | None
    is_over: bool

    @property
    def fresh_first(self) -> bool:
        return self.pages % FRESH_EVERY == FRESH_EVERY - 1

    @property
    def turns(self) -> tuple[int, int]:
        """Return the ordinary lanes in the order in which this page is filled from them."""
        return (FRESH, RETURNED) if self.fresh_first else (RETURNED, FRESH)

    def start(self, lane: int) -> int:
        """Return the ticket to read from; newcomers skip what has long been full."""
        if lane == GOLD:
            return self.cursors[lane]
        return max(self.cursors[lane], self.floors[lane])


class CandidateQuestion(NamedTuple):
    """A question with a free seat that this person could get.

    answer: of gold, as text; None for others. look: for steps, the step and its topic.
    """

    id: int
    subject: int
    ticket: int
    topic: str
    answer: str | None = None
    look: str = ""


@dataclass
class Scan:
    """The part of a lane that was read for one person.

    most: rows to read, None for no limit. first, last: tickets of the first and last question read,
    including seen ones; None if none was. exhausted: whether the lane was read to its end. dealt:
    counts of answers among the gold read that this person was given.
    """

    lane: int
    start: int
    target: int
    window: int
    most: int | None = None
    candidates: list[CandidateQuestion] = field(default_factory=list)
    first: int | None = None
    last: int | None = None
    rows: int = 0
    exhausted: bool = False
    dealt: Counter[str] = field(default_factory=Counter)

    def cursor(self, taken: set[int]) -> int:
        """Return the cursor once the person holds `taken`: just before the first candidate left
        behind, so that one skipped because of a lock or its topic comes first next time.
        """
        for candidate in self.candidates:
            if candidate.id not in taken:
                return candidate.ticket - 1
        return self.position

    @property
    def position(self) -> int:
        return self.start if self.last is None else self.last

    @property
    def needs_more_rows(self) -> bool:
        if self.exhausted or len(self.candidates) >= self.target:
            return False
        return self.most is None or self.rows < self.most

    def add_rows(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add the rows of one window, as WINDOW selects them; a union has no order."""
        rows = sorted(rows, key=itemgetter(3))
        for _, pk, subject, ticket, topic, look, seat, answer in rows:
            if seat in UNSEEN:
                self.candidates.append(
                    CandidateQuestion(pk, subject, ticket, topic, answer, look=look)
                )
            elif answer is not None:
                self.dealt[answer] += 1
        if rows:
            self.first = rows[0][3] if self.first is None else self.first
            self.last = rows[-1][3]
        self.rows += len(rows)
        # An empty window means that the lane is at its end.
        self.exhausted = not self.window or len(rows) < self.window
        self.window = min(self.window * 4, WIDEST_WINDOW)
        if self.most is not None:
            self.window = min(self.window, max(0, self.most - self.rows))


@dataclass(frozen=True)
class LaneReading:
    """What one person could get, read without locks.

    held: their open seats by id, with their tokens; held_topics: counts of their topics. topic:
    that of the page, None if topics mix. scans: the lanes in order, from which cursors move.
    candidates: by lane, what this page may take. reusable: questions of seats they gave back, gold
    or not, by ticket; read only if nothing else is left.
    """

    held: list[int]
    tokens: set[str]
    held_topics: Counter[str]
    topic: str | None
    scans: list[Scan]
    candidates: list[list[CandidateQuestion]]
    reusable: list[CandidateQuestion]

    @property
    def is_overtaken(self) -> bool:
        """Return whether others took all of the topic between the two reads.

        Other topics may be left.
        """
        had_candidates = any(scan.candidates for scan in self.scans[:2])
        return (
            self.topic is not None
            and not self.held
            and had_candidates
            and not any(self.candidates[:2])
        )

    @property
    def is_at_end(self) -> bool:
        return all(scan.exhausted for scan in self.scans[:2])


READER = """
SELECT b.id, b.cursor_returned, b.cursor_fresh, b.cursor_gold, b.pages, b.answered, b.role,
    b.stage, b.gold_share, c.state, c.floor_returned, c.floor_fresh, c.last_ticket,
    c.questions_asked, c.questions_free, c.counted_at, p.content, b.topics,
    c.deadline <= CURRENT_TIMESTAMP
FROM labeling_membership b
JOIN labeling_campaign c ON c.id = b.campaign_id
JOIN labeling_policy p ON p.id = c.policy_id
WHERE b.user_id = %s AND b.campaign_id = %s AND b.left_at IS NULL
"""


def reader(user: User, campaign: Campaign) -> LaneReader:
    """Return the member as a reader of the campaign. Raises NotYours for anybody else."""
    rows = fetch_prepared(READER, [user.pk, campaign.pk])
    if not rows:
        raise NotYours(gettext(NOT_A_MEMBER))
    row = rows[0]
    policy = policies.whole(json.loads(row[16]))
    return LaneReader(
        membership_id=row[0],
        user_id=user.pk,
        campaign_id=campaign.pk,
        cursors=(row[1], row[2], row[3]),
        pages=row[4],
        answered=row[5],
        role=row[6],
        stage=row[7],
        # A lower share in the policy applies at once, before the person is monitored again.
        share=min(policy["gold_share"], policy["gold_share"] if row[8] is None else row[8]),
        state=row[9],
        floors=(row[10], row[11]),
        last_ticket=row[12],
        questions_asked=row[13],
        questions_free=row[14],
        # SQLite returns UTC without a time zone.
        counted_at=row[15] and row[15].replace(tzinfo=UTC),
        policy=policy,
        by_topic=KINDS[campaign.kind].topic_pages,
        quota=None if row[17] is None else json.loads(row[17]),
        is_over=bool(row[18]),
    )


# A closed seat can be leased again. One that this person gave back comes last
# (REUSABLE_QUESTIONS) and is skipped here like an answered one.
UNSEEN = (None, "closed")
# The seat is a scalar subquery, not an anti-join: it is looked up in the unique index for each row
# read, and no planner can turn it into a join over everything the person ever answered. Rows that
# they have seen are returned too, so that the cursor can pass them. States are literals, not
# parameters: SQLite uses a partial index only for literals. A seat given back on another question
# with the same subject does not exclude this question, except for subjects below 0, where both show
# a part of one thing (subjects.py). LOOK tells how the page looks: the first box to draw comes
# without boxes, a later one with them, and a proposed box may be corrected.
LOOK = """CASE WHEN q.content IS NULL OR q.content ->> 'unshown' IS NOT NULL THEN q.step
        WHEN q.content ->> 'came' = 'proposed' THEN q.step || '*' ELSE q.step || '+' END"""
COLUMNS = f"""q.lane, q.id, COALESCE(q.subject, q.id) AS subject, q.ticket, q.topic, {LOOK} AS look,
        (SELECT CASE WHEN a.question_id <> q.id AND a.subject < 0 THEN 'elsewhere'
                WHEN a.question_id <> q.id AND a.state = 'returned' THEN 'closed'
                ELSE a.state END FROM labeling_assignment a
         WHERE a.annotator_id = %s AND a.subject = COALESCE(q.subject, q.id)) AS seat"""  # noqa: S608
NO_ANSWER = "CAST(NULL AS text) AS answer FROM labeling_question q"
# The word by which gold is balanced. All drawings count as one word.
WORD_OF_GOLD = "CASE WHEN {} THEN CAST(g.answer AS text) ELSE 'drawn' END".format(
    " AND ".join(f"g.answer -> '{key}' IS NULL" for key in ("parts", "boxes", "missing"))
)
GOLD_ANSWER = (
    f"{WORD_OF_GOLD} AS answer FROM labeling_question q "
    "JOIN labeling_gold g ON g.question_id = q.id"
)


def _window_of(source: str, filters: str = "") -> str:
    return f"""
SELECT * FROM (
    SELECT {COLUMNS}, {source}
    WHERE q.campaign_id = %s AND q.lane = %s{filters} AND q.ticket > %s AND q.seats_free > 0
    ORDER BY q.ticket LIMIT %s
) AS w
"""  # noqa: S608


def _windows_about(topics: Sequence[str]) -> list[str]:
    """Return WINDOWS limited to the topics of a quota."""
    return [_window_of(source, f" AND q.topic IN ({marks(topics)})") for source in SOURCES]


OF_TOPIC = " AND q.topic = %s AND q.by_topic"
SOURCES = (NO_ANSWER, NO_ANSWER, GOLD_ANSWER)
WINDOWS = [_window_of(source) for source in SOURCES]
TOPIC_WINDOWS = [_window_of(source, OF_TOPIC) for source in SOURCES]
HELD = """
SELECT -1 AS lane, a.id, 0 AS subject, 0 AS ticket, q.topic, a.token AS look,
    a.state AS seat, CAST(NULL AS text) AS answer
FROM labeling_assignment a JOIN labeling_question q ON q.id = a.question_id
WHERE a.annotator_id = %s AND a.state = 'leased' AND q.campaign_id = %s
"""
WINDOWS_AND_HELD = " UNION ALL ".join([*WINDOWS, HELD])
REUSABLE_QUESTIONS = f"""
SELECT q.id, a.subject, q.ticket, q.topic,
    (SELECT {WORD_OF_GOLD} FROM labeling_gold g WHERE g.question_id = q.id), {LOOK},
    a.token, q.seats_free
FROM labeling_assignment a JOIN labeling_question q ON q.id = a.question_id
WHERE a.annotator_id = %s AND a.state = 'returned' AND q.campaign_id = %s
ORDER BY q.seats_free = 0, q.ticket LIMIT %s
"""  # noqa: S608


def read(person: LaneReader, size: int) -> LaneReading:
    """Return what this person holds and could get: at least `size` candidates of each lane by
    ticket, or the lane to its end; for a page of one topic, of that topic.

    One statement, and a second for a topic's page, unless nearly all of a window was seen.
    """
    scans = []
    for lane in Question.Lane.values:
        # A page of one topic needs only the start of each lane.
        target = 1 if person.by_topic else size
        most = ENOUGH_ROWS if lane == GOLD else None
        scans.append(_scan(person, lane, person.start(lane), target, size, most))
    quota_topics = sorted(person.quota) if person.quota is not None else []
    statements = _windows_about(quota_topics) if quota_topics else WINDOWS
    windows = [part for scan in scans for part in _window(person, scan, *quota_topics)]
    everything = (
        WINDOWS_AND_HELD if statements is WINDOWS else " UNION ALL ".join([*statements, HELD])
    )
    fetch_rows = fetch_prepared if everything is WINDOWS_AND_HELD else fetch
    rows = fetch_rows(everything, [*windows, person.user_id, person.campaign_id])
    for scan in scans:
        scan.add_rows([row for row in rows if row[0] == scan.lane])
        while scan.needs_more_rows:
            scan.add_rows(fetch(statements[scan.lane], _window(person, scan, *quota_topics)))
    held = [row for row in rows if row[0] < 0]
    reusable = _reusable_questions(person) if all(scan.exhausted for scan in scans[:2]) else []
    topic = _topic(person, held, scans, reusable) if person.by_topic else None
    candidates = [scan.candidates for scan in scans]
    if topic is not None and len(held) < size:
        candidates = _candidates_of_topic(person, size, topic, scans)
        if any(scan.candidates for scan in scans[:2]):
            # Returned questions come only if nothing else is left.
            reusable = []
        reusable = [candidate for candidate in reusable if candidate.topic == topic]
    return LaneReading(
        held=[row[1] for row in held],
        tokens={row[5] for row in held},
        held_topics=Counter(row[4] for row in held),
        topic=topic,
        scans=scans,
        candidates=candidates,
        reusable=reusable,
    )


def _scan(
    person: LaneReader, lane: int, start: int, target: int, size: int, most: int | None
) -> Scan:
    if (lane == GOLD and not person.share) or person.quota == {}:
        return Scan(lane, start, 0, 0)
    return Scan(lane, start, target, size * OVERSAMPLE, most)


def _window(person: LaneReader, scan: Scan, *topics: str) -> list[Any]:
    return [person.user_id, person.campaign_id, scan.lane, *topics, scan.position, scan.window]


def _topic(
    person: LaneReader,
    held: Sequence[tuple[Any, ...]],
    scans: Sequence[Scan],
    reusable: Sequence[CandidateQuestion],
) -> str | None:
    """Return the topic of this page: that of the open seats, else that of the next question."""
    if held:
        return str(held[0][4])
    for lane in person.turns:
        if scans[lane].candidates:
            return scans[lane].candidates[0].topic
    return reusable[0].topic if reusable else None


def _candidates_of_topic(
    person: LaneReader, size: int, topic: str, heads: Sequence[Scan]
) -> list[list[CandidateQuestion]]:
    """Return the candidates of one topic in each lane.

    Reading begins at a lane's first candidate, since everything before was seen, so the next topic
    is found at once.
    """
    scans = [
        _scan(person, head.lane, head.cursor(set()), size, size, ENOUGH_ROWS)
        for head in heads
        if head.candidates
    ]
    if not scans:
        return [[] for _ in heads]
    rows = fetch(
        " UNION ALL ".join(TOPIC_WINDOWS[scan.lane] for scan in scans),
        [part for scan in scans for part in _window(person, scan, topic)],
    )
    for scan in scans:
        scan.add_rows([row for row in rows if row[0] == scan.lane])
        while scan.needs_more_rows:
            scan.add_rows(fetch(TOPIC_WINDOWS[scan.lane], _window(person, scan, topic)))
    heads[GOLD].dealt = next((scan.dealt for scan in scans if scan.lane == GOLD), Counter())
    candidates_by_lane = {scan.lane: scan.candidates for scan in scans}
    return [candidates_by_lane.get(head.lane, []) for head in heads]


def _reusable_questions(person: LaneReader) -> list[CandidateQuestion]:
    """Return the questions that this person gave back or let expire and could get again, gold or
    not.

    Gold always has a seat; seats of ordinary questions may have gone to others. To hide that, each
    gold question returns with a probability equal to the share of free ones among the ordinary
    questions returned next after it, and always if there were none. A keyed hash of the seat
    decides, so the result is stable.
    """
    rows = fetch(REUSABLE_QUESTIONS, [person.user_id, person.campaign_id, MAX_REUSABLE])
    ordinary = sorted((row[2], bool(row[7])) for row in rows if row[4] is None)

    def returns(ticket: int, token: str) -> bool:
        after = bisect_right(ordinary, (ticket, True))
        free = [is_free for _, is_free in ordinary[after : after + NEXT_ORDINARY]]
        return not free or _draw(token) < sum(free) / len(free)

    return [
        CandidateQuestion(*row[:6])
        for row in rows
        if row[7]
        and (row[4] is None or returns(row[2], row[6]))
        and (person.quota is None or row[3] in person.quota)
    ]


def _draw(token: str) -> float:
    """Return a number in [0, 1) for a seat. Its token alone does not reveal the number."""
    digest = salted_hmac("labeling.assignment.again", token, algorithm="sha256").digest()
    return int.from_bytes(digest[:6]) / 2**48


def gold_of_topics(
    person: LaneReader, scan: Scan, topics: Iterable[str]
) -> list[CandidateQuestion]:
    """Return gold of these topics that this person has not seen, if the window had none of them."""
    keys = sorted(topics)
    window = _window_of(GOLD_ANSWER, f" AND q.topic IN ({marks(keys)})")
    more = Scan(GOLD, scan.start, scan.target, scan.window)
    more.add_rows(fetch(window, _window(person, more, *keys)))
    return more.candidates

"""A campaign as a million questions and five million answers leave it, written by the database."""

import json
import re
from collections.abc import Callable
from typing import Any

IMAGES = 10_000
OTHERS = 30
LEFT = 200
NEWCOMERS = 400
TOPICS = 20
# Users: 1 opened the campaign, then these.
EVERY, BUT_200, FIRST_OTHER = 2, 3, 4
FIRST_NEWCOMER = FIRST_OTHER + OTHERS


def build(questions: int) -> None:
    """The campaign as five people an image have left it, written by the database itself."""
    from django.core.management.color import no_style
    from django.db import connection
    from django.utils import timezone

    from labeling.campaigns import lifecycle
    from labeling.db import question_counts
    from labeling.db.sql import moment
    from labeling.models import Campaign, Dataset, Graph, User

    people = FIRST_NEWCOMER + NEWCOMERS
    User.objects.bulk_create([User(pk=pk, username=f"u{pk}") for pk in range(1, people)])
    alice = User.objects.get(pk=1)
    pond = Dataset.objects.create(owner=alice, name="pond")
    campaign = lifecycle.create(
        alice,
        name="large",
        title="Large",
        kind="contains",
        dataset=pond,
        policy={"votes": 10, "max_votes": 12, "gold_share": 0},
    )
    grid = lifecycle.create(
        alice,
        name="grid",
        title="Grid",
        kind="hierarchy",
        dataset=pond,
        policy={"votes": 10, "max_votes": 12, "gold_share": 0},
    )
    graph = Graph.objects.create(campaign=grid, version=1, sha256="0" * 64)
    now = moment(timezone.now())
    postgres = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        restore = bare(cursor) if postgres else _loose(cursor)
        statements = _statements(postgres, questions, campaign, pond.pk, people)
        statements += _grid_statements(postgres, questions, grid, graph.pk)
        for statement in statements:
            cursor.execute(complete(statement).replace("NOW", f"'{now}'"))
        restore()
        for statement in connection.ops.sequence_reset_sql(no_style(), [User]):
            cursor.execute(statement)
        if postgres:
            cursor.execute("VACUUM ANALYZE")
            for table in ("assignment", "answer", "question", "membership", "item", "image"):
                cursor.execute(
                    f"SELECT setval(pg_get_serial_sequence('labeling_{table}', 'id'), max(id)) "
                    f"FROM labeling_{table}"
                    if table != "answer"
                    else "SELECT 1"
                )
    Campaign.objects.update(state="open", last_ticket=questions + LEFT // 2)
    for made in (campaign, grid):
        question_counts.reconcile(made.pk)
    connection.close()


def complete(statement: str) -> str:
    """Return an INSERT … SELECT with the default of every column that it leaves out: the models
    know them, the database does not."""
    from django.apps import apps
    from django.db import connection

    head = re.match(r"INSERT INTO (\w+) \(([^)]*)\)", statement)
    assert head is not None, statement
    written = re.split(r",\s*", head[2])
    [model] = [model for model in apps.get_models() if model._meta.db_table == head[1]]
    values = {
        field.column: _literal(field.get_default(), connection.vendor)
        for field in model._meta.concrete_fields
        if field.column not in written and not field.primary_key and not field.null
    }
    columns = ", ".join([*values, *written])
    select = "".join(["SELECT ", *(f"{value}, " for value in values.values())])
    rest = statement[head.end() :].replace("SELECT ", select, 1)
    return f"INSERT INTO {head[1]} ({columns}){rest}"


def _literal(value: Any, vendor: str) -> str:
    if isinstance(value, bool) and vendor == "sqlite":
        return str(int(value))
    if isinstance(value, bool | int | float):
        return str(value).lower()
    text = value if isinstance(value, str) else json.dumps(value, default=str).strip('"')
    return "'" + text.replace("'", "''").replace("%", "%%") + "'"


def _series(postgres: bool, last: int, first: int = 1) -> str:
    if postgres:
        return f"generate_series({first}, {last}) AS s(n)"
    return (
        f"(WITH RECURSIVE s(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM s "
        f"WHERE n < {last}) SELECT n FROM s) AS s"
    )


def _hexed(postgres: bool, value: str, width: int) -> str:
    if postgres:
        return f"lpad(to_hex({value}), {width}, '0')"
    return f"printf('%0{width}x', {value})"


MEMBERSHIP = (
    "INSERT INTO labeling_membership (id, user_id, campaign_id, role, cursor_returned, "
    "cursor_fresh, cursor_gold, answered, worked_ms, pages, stage, working_since, attempts, "
    "standing, joined_at)"
)
NEWCOMER = "'annotator', 0, 0, 0, 0, 0, 0, 'working', NOW, 0, '{}', NOW"


def _statements(
    postgres: bool, questions: int, campaign: Any, dataset: int, people: int
) -> list[str]:
    """INSERT … SELECT over a series n; the databases differ in the series and in hexadecimal."""

    def series(last: int, first: int = 1) -> str:
        return _series(postgres, last, first)

    def hexed(value: str, width: int) -> str:
        return _hexed(postgres, value, width)

    uuid_of = f"{hexed('id', 32)}::uuid" if postgres else hexed("id", 32)
    half = LEFT // 2
    middle = questions // 2
    returned = f"n > {middle} AND n <= {middle + half}"
    left = f"({returned} OR n > {questions - half})"

    def seats(annotator: str, offset: int, where: str = "1 = 1") -> str:
        return (
            "INSERT INTO labeling_assignment (id, question_id, annotator_id, subject, token, "
            f"state, leased_until, created_at, ordinal) SELECT n + {offset}, n, {annotator}, n, "
            f"{hexed(f'n + {offset}', 32)}, 'answered', NOW, NOW, n "
            f"FROM {series(questions)} WHERE {where}"
        )

    return [
        "INSERT INTO labeling_image (id, dataset_id, name, sha256, file, display, thumbnail, "
        "media_type, bytes, width, height, licence, source, added_at) "
        f"SELECT n, {dataset}, {hexed('n', 8)}, {hexed('n', 64)}, 'x', '', '', 'image/png', 1, 1, "
        f"1, '', '', NOW FROM {series(IMAGES)}",
        f"INSERT INTO labeling_item (id, image_id) SELECT n, n FROM {series(IMAGES)}",
        f"{MEMBERSHIP} SELECT n + 10, n, {campaign.pk}, {NEWCOMER} FROM {series(people - 1, 2)}",
        "INSERT INTO labeling_question (id, campaign_id, item_id, topic, round, lane, ticket, "
        f"seats_free, state, policy_id, follow_up) SELECT n, {campaign.pk}, 1 + n % {IMAGES}, "
        f"CAST(n / {IMAGES} AS varchar(64)), 0, CASE WHEN {returned} THEN 0 ELSE 1 END, "
        f"CASE WHEN {returned} THEN {questions} + n - {middle} ELSE n END, 5, 'open', "
        f"{campaign.policy_id}, {'false' if postgres else 0} FROM {series(questions)}",
        seats(str(EVERY), 0),
        seats(f"CASE WHEN {left} THEN {FIRST_OTHER + OTHERS - 1} ELSE {BUT_200} END", questions),
        *(
            # Three of the others for each question, never the one who stands in above.
            seats(f"{FIRST_OTHER} + (n % 9) * 3 + {vote}", (2 + vote) * questions)
            for vote in range(3)
        ),
        "INSERT INTO labeling_answer (id, assignment_id, revision, value, duration_ms, late, "
        f"created_at) SELECT {uuid_of}, id, 0, '\"yes\"', 900, {'false' if postgres else 0}, NOW "
        "FROM labeling_assignment",
    ]


def _grid_statements(postgres: bool, questions: int, campaign: Any, graph: int) -> list[str]:
    """The second campaign: its topics take turns, and one person has answered nearly all of it."""
    count, half = questions // 5, LEFT // 2
    series, middle = _series(postgres, count), count // 2
    token = _hexed(postgres, f"{6 * questions} + n", 32)
    returned = f"n > {middle} AND n <= {middle + half}"
    return [
        f"{MEMBERSHIP} SELECT n + 100000, n, {campaign.pk}, {NEWCOMER} "
        f"FROM {_series(postgres, FIRST_OTHER, 2)}",
        "INSERT INTO labeling_question (id, campaign_id, item_id, topic, round, lane, ticket, "
        "seats_free, state, policy_id, follow_up, graph_id, by_topic) "
        f"SELECT {questions} + n, {campaign.pk}, 1 + (n / {TOPICS}) % {IMAGES}, "
        f"CAST(n % {TOPICS} AS varchar(64)), n / ({TOPICS} * {IMAGES}), "
        f"CASE WHEN {returned} THEN 0 ELSE 1 END, "
        f"CASE WHEN {returned} THEN {count} + n - {middle} ELSE n END, 5, 'open', "
        f"{campaign.policy_id}, {'false' if postgres else 0}, {graph}, "
        f"{'true' if postgres else 1} FROM {series}",
        "INSERT INTO labeling_assignment (id, question_id, annotator_id, subject, token, "
        "state, leased_until, created_at, ordinal) "
        f"SELECT {6 * questions} + n, {questions} + n, {BUT_200}, {questions} + n, {token}, "
        f"'answered', NOW, NOW, n FROM {series} "
        f"WHERE NOT ({returned}) AND n > 1 AND n <= {count - half}",
    ]


def bare(cursor: Any) -> Callable[[], None]:
    """Drops the constraints and indexes of the three big tables; returns what restores them."""
    tables = "'labeling_question', 'labeling_assignment', 'labeling_answer'"
    cursor.execute(
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), contype "
        f"FROM pg_constraint WHERE conrelid::regclass::text IN ({tables}) "
        "ORDER BY contype = 'f'"
    )
    constraints = cursor.fetchall()
    for table, name, _, kind in sorted(constraints, key=lambda row: row[3] != "f"):
        cursor.execute(f'ALTER TABLE {table} DROP CONSTRAINT "{name}" CASCADE')
        assert kind
    cursor.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' "
        f"AND tablename IN ({tables})"
    )
    indexes = cursor.fetchall()
    for name, _ in indexes:
        cursor.execute(f'DROP INDEX "{name}"')
    cursor.execute("SET maintenance_work_mem = '1GB'")

    def restore() -> None:
        order = {"p": 0, "u": 1, "c": 2, "f": 3}
        for table, name, definition, _ in sorted(constraints, key=lambda row: order[row[3]]):
            cursor.execute(f'ALTER TABLE {table} ADD CONSTRAINT "{name}" {definition}')
        for _, definition in indexes:
            cursor.execute(definition)

    return restore


def _loose(cursor: Any) -> Callable[[], None]:
    """Nothing is synced while rows are built; measuring is at synchronous=FULL, as the site."""
    cursor.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL "
        "AND tbl_name IN ('labeling_question', 'labeling_assignment', 'labeling_answer')"
    )
    indexes = cursor.fetchall()
    for name, _ in indexes:
        cursor.execute(f'DROP INDEX "{name}"')
    cursor.execute("PRAGMA synchronous = OFF")
    cursor.execute("PRAGMA cache_size = -2000000")

    def restore() -> None:
        for _, statement in indexes:
            cursor.execute(statement)
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    return restore

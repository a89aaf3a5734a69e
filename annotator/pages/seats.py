"""The seat data that labeling pages get. A random token and a signed URL stand for the image.

Gold seats look like all others. The image URL has a signature over seat, person and the start of
the current period. It stays the same while the seat is held, so that a reload uses the browser's
cache. All images of a campaign have the same response headers: no name, no hash, no date.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.signing import BadSignature, SignatureExpired, Signer, TimestampSigner, b62_encode
from django.db.models import Exists, OuterRef
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from annotator.kinds import page_of
from annotator.kinds.base import SeatRow, SeatsPayload, TopicDescription
from annotator.pages.wording import article_for, headline
from labeling.answers import submitting, window
from labeling.assignment.claiming import SeatView
from labeling.campaigns import texts
from labeling.datasets import images
from labeling.errors import NotAllowed, NotYours
from labeling.kinds import policies
from labeling.models import Answer, Campaign, Image, Membership, Seat, Topic, User

signer = TimestampSigner(salt="annotator.pages.seats.image")
LEASED, ANSWERED = Seat.State.LEASED, Seat.State.ANSWERED
# Half a day of work; the seat's lease ends much earlier.
MAX_AGE = timedelta(hours=12)


def image_url(seat: SeatView | Seat, user: User) -> str:
    """Return the URL of a seat's image: valid for this person only, the same for half a day."""
    periods = max(0, (timezone.now() - seat.created_at) // MAX_AGE)
    start = b62_encode(int((seat.created_at + periods * MAX_AGE).timestamp()))
    # The parent class signs without the current time.
    signed = Signer.sign(signer, f"{seat.token}.{user.pk}{signer.sep}{start}")
    _, signature = signed.split(signer.sep, 1)
    return f"{reverse('seat_image', args=[seat.token])}?s={signature}"


def check_signature(token: str, user: User, signature: str) -> None:
    """Raise NotAllowed unless image_url made this signature for this person and seat."""
    try:
        signer.unsign(f"{token}.{user.pk}{signer.sep}{signature}", max_age=MAX_AGE)
    except SignatureExpired as error:
        raise NotAllowed(
            gettext("This image's address has expired. Reload the page."), code="expired"
        ) from error
    except BadSignature as error:
        raise NotAllowed(gettext("This address was not signed for you."), code="forged") from error


def seat_of(user: User, token: str, campaign: Campaign | None = None) -> Seat:
    """Return the member's own seat, in the campaign if one is given, while it is open or its answer
    may be revised. Raises NotYours.
    """
    seat = _seat(user, token, campaign)
    if seat is None or not is_viewable(user, seat):
        raise NotYours(
            gettext("This image is not, or no longer, assigned to you. Continue with the next one.")
        )
    return seat


def seat_to_save(user: User, token: str, campaign: Campaign) -> Seat:
    """Return the seat whose draft may be saved. Raises NotYours.

    Like seat_of; a person whose work was stopped may save on any of their seats.
    """
    members = Membership.objects.active().filter(user=user, campaign=campaign)
    if members.filter(stage__in=submitting.STOPPED).exists() and (
        seat := _seat(user, token, campaign)
    ):
        return seat
    return seat_of(user, token, campaign)


def _seat(user: User, token: str, campaign: Campaign | None) -> Seat | None:
    seat = (
        Seat.objects.filter(token=token, annotator=user)
        .select_related("question__item__image", "question__campaign__policy")
        .first()
    )
    elsewhere = seat and campaign and seat.question.campaign_id != campaign.pk
    return None if elsewhere else seat


def seats_of(user: User, campaign: Campaign, tokens: Iterable[str]) -> list[tuple[Seat, Any]]:
    """Return those of the member's seats that they may still see, sorted by token, each with its
    current answer (None before any).
    """
    member = _active_member(user, campaign)
    if member is None:
        return []
    rows = list(
        Seat.objects.filter(token__in=list(tokens), annotator=user, question__campaign=campaign)
        .select_related("question__item__image")
        .order_by("token")
    )
    answered = window.answered_on([seat.pk for seat in rows if seat.state == ANSWERED])
    visible_seats = [
        seat
        for seat in rows
        if seat.state == LEASED
        or (seat.pk in answered and _is_revisable(member, campaign, seat, answered[seat.pk]))
    ]
    latest = latest_values([seat.pk for seat in visible_seats])
    return [(seat, latest.get(seat.pk)) for seat in visible_seats]


def latest_values(seats: Collection[int]) -> dict[int, Any]:
    """Return the current answer of each answered seat; seats are primary keys. One query."""
    later = Answer.objects.filter(
        assignment=OuterRef("assignment"), revision__gt=OuterRef("revision")
    )
    rows = Answer.objects.filter(~Exists(later), assignment__in=seats)
    return dict(rows.values_list("assignment", "value"))


def is_viewable(user: User, seat: Seat) -> bool:
    """Return whether the person may still see the image: the seat is held, or its answer may be
    revised.

    The rule is the same for gold and settled questions, and as in submitting.submit.
    """
    campaign = seat.question.campaign
    member = _active_member(user, campaign)
    if member is None or seat.state not in (LEASED, ANSWERED):
        return False
    if seat.state == LEASED:
        return True
    answered = window.answered_on([seat.pk]).get(seat.pk, window.SeatAnswers())
    return _is_revisable(member, campaign, seat, answered)


def _active_member(user: User, campaign: Campaign) -> Membership | None:
    """Return the membership; None for a blocked person, who may change nothing any more."""
    members = Membership.objects.active().exclude(stage=Membership.Stage.BLOCKED)
    return members.filter(user=user, campaign=campaign).first()


def _is_revisable(
    member: Membership, campaign: Campaign, seat: Seat, answered: window.SeatAnswers
) -> bool:
    return campaign.state != Campaign.State.CLOSED and window.is_open(
        policies.for_campaign(campaign),
        revisions=answered.revisions,
        first_at=answered.first_at,
        later_answers=member.answered - (seat.ordinal or 0),
        now=timezone.now(),
    )


# Tiles of larger images are thumbnails: a hundred photographs at full size would fill a phone's
# memory. A closer look loads the image itself.
TILE_PX = 1024


def cache_seconds(campaign: Campaign) -> int:
    """Return how many seconds browsers may cache the images of the campaign's seats.

    It is the same for all seats: the remaining time of each lease would reveal gold.
    """
    lease_seconds = 60 * policies.for_campaign(campaign)["lease_minutes"]
    return min(lease_seconds, settings.ASSAY_PHOTOGRAPH_CACHE_SECONDS)


def tile_response(image: Image, max_age: int) -> HttpResponse:
    """Return the image for a page of many: small ones as they are, large ones as thumbnails."""
    small = max(image.width, image.height) <= TILE_PX
    with images.open_display(image) if small else images.open_thumbnail(image) as file:
        return _picture_response(file.read(), max_age)


def seat_response(
    image: Image, max_age: int, detail: str | None, is_drawn_on: bool
) -> HttpResponse:
    """Return the image of a seat's page, or the tile of it that `detail` names."""
    if detail is not None:
        opened = images.open_detail(image, detail)
    else:
        opened = (images.open_preview if is_drawn_on else images.open_display)(image)
    with opened as file:
        return _picture_response(file.read(), max_age)


def image_response(image: Image, max_age: int = 0) -> HttpResponse:
    """Return the image for annotators, with the same headers for every image. max_age: seconds that
    the browser may cache it.
    """
    with images.open_display(image) as file:
        return _picture_response(file.read(), max_age)


def _picture_response(content: bytes, max_age: int) -> HttpResponse:
    response = HttpResponse(content, content_type=media_type_of(content))
    response["Cache-Control"] = f"private, max-age={max_age}" if max_age else "private, no-store"
    response["Content-Disposition"] = "inline"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    return response


SIGNATURES = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}


def media_type_of(content: bytes) -> str:
    """Return the media type by the first bytes; a derivative's type may differ from its
    source's.
    """
    return next(
        (name for start, name in SIGNATURES.items() if content.startswith(start)),
        "application/octet-stream",
    )


def describe(
    page_seats: Iterable[SeatView | Seat], user: User, campaign: Campaign, known: Iterable[str] = ()
) -> SeatsPayload:
    """Return the labeling script's data: the seats in order and the topics not yet known."""
    rows: list[SeatRow] = [
        {"seat": seat.token, "topic": seat.topic, "image": image_url(seat, user)}
        for seat in page_seats
    ]
    if rows:
        rows = page_of(campaign).describe_seats(rows, user, campaign)
    topic_keys = {row["topic"] for row in rows} - set(known)
    return {"seats": rows, "topics": topics_of(campaign, topic_keys)}


def topics_of(campaign: Campaign, keys: set[str]) -> dict[str, TopicDescription]:
    """Return the page's description of each class with its examples, by topic key. Two queries."""
    if not keys:
        return {}
    topics = (
        Topic.objects.filter(campaign=campaign, key__in=keys)
        .prefetch_related("examples")
        .order_by("key")
    )
    topics_by_key = {topic.key: describe_topic(topic, campaign.words) for topic in topics}
    for key in keys - set(topics_by_key):
        topics_by_key[key] = {"name": texts.name_of(campaign.words, key, key), "article": "a"}
    page = page_of(campaign)
    return {key: page.describe_topic(topic, campaign, key) for key, topic in topics_by_key.items()}


def describe_topic(topic: Topic, words: Mapping[str, Any]) -> TopicDescription:
    """Return the page's description of a class. words: the texts of the page's language."""
    class_texts = texts.class_words(words, topic.key)
    name, rest = headline(class_texts.get("name", topic.name))
    definitions = [
        part
        for part in (rest, class_texts.get("definition", topic.definition))
        if part.lower() not in ("", name.lower())
    ]
    return {
        "name": name,
        "article": article_for(name),
        "synonyms": topic.synonyms,
        "definition": "; ".join(definitions),
        "url": topic.url,
        "guidance": class_texts.get("guidance", topic.guidance),
        "siblings": topic.siblings,
        "examples": [
            {
                "image": reverse("example_image", args=[example.token]),
                "answer": example.answer,
                "word": gettext("Yes") if example.answer == "yes" else gettext("No"),
                "caption": example.caption,
            }
            for example in topic.examples.all()
        ],
    }

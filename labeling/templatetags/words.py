"""Template filters that format numbers."""

from typing import Any

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString

from labeling.campaigns import markdown
from labeling.campaigns.names import VisibleNames
from labeling.models import Campaign, User
from labeling.reports import forecasts, person_page

register = template.Library()


@register.filter
def instructions(text: str, campaign: Campaign) -> SafeString:
    """Return the campaign's instructions as HTML."""
    sign = markdown.signer_of(campaign).sign
    return markdown.render(
        text, lambda name: reverse("instructions_image", args=[campaign.name, sign(name)])
    )


@register.filter
def percent(share: float | None) -> str:
    """Return a share as a percentage; a dash where nothing was counted.

    >>> percent(0.835), percent(None), percent(0.999)
    ('84 %', '–', '99 %')
    """
    if share is None:
        return "–"
    # What is not all of it must not read as all of it.
    rounded = min(99, round(share * 100)) if share < 1 else 100
    return f"{rounded} %"


@register.filter
def permille(share: float | None) -> str:
    """Return a share as a percentage with one decimal, two below 1 %; a dash where nothing was
    counted.

    >>> permille(0.835), permille(0.0042), permille(None), permille(0.9999)
    ('83.5 %', '0.42 %', '–', '99.9 %')
    """
    if share is None:
        return "–"
    if 0.999 < share < 1:
        return "99.9 %"
    return f"{share * 100:.{2 if 0 < share < 0.01 else 1}f} %"


@register.filter
def precisely(share: float | None) -> str:
    """Return a share near one as a percentage with two decimals; a dash where nothing was counted.

    >>> precisely(0.99734), precisely(1), precisely(0.99999), precisely(None)
    ('99.73 %', '100 %', '99.99 %', '–')
    """
    if share is None:
        return "–"
    return "100 %" if share >= 1 else f"{min(99.99, share * 100):.2f} %"


@register.filter
def money(amount: float, currency: str = "EUR") -> str:
    """Return an amount in its currency.

    >>> money(1234.5, "EUR")
    '1,234.50 EUR'
    """
    return f"{amount:,.2f} {currency}"


@register.filter
def is_range(estimate: forecasts.CostEstimate | None) -> bool:
    """Return whether low and high of an estimate differ."""
    return estimate is not None and estimate.low != estimate.high


@register.filter
def hours(value: float | None) -> str:
    """Return hours as hours and minutes.

    >>> hours(1.5), hours(0.2), hours(120.2), hours(None)
    ('1 h 30 min', '12 min', '120 h', '–')
    """
    if value is None:
        return "–"
    minutes = round(value * 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes >= 6000:
        return f"{minutes / 60:,.0f} h"
    return f"{minutes // 60} h {minutes % 60} min"


@register.filter
def minutes(value: float | None) -> str:
    """Return minutes as hours and minutes, or days.

    >>> minutes(5), minutes(75.2), minutes(3000)
    ('5 min', '1 h 15 min', '2 days')
    """
    if value is None:
        return "–"
    if value < 1:
        return "less than a minute"
    if value >= 2880:
        return f"{value / 1440:.0f} days"
    return hours(value / 60)


@register.filter
def on_scale(share: float, length: float = 100) -> str:
    """Return a share as a position on an SVG line of that length."""
    return f"{share * length:.1f}"


@register.filter
def from_below(share: float, length: float = 100) -> str:
    """Return a share as a y coordinate above the bottom of an SVG."""
    return f"{(1 - share) * length:.1f}"


@register.filter
def filesize(count: int | None) -> str:
    """Return bytes with a unit.

    >>> filesize(532), filesize(5_320_000)
    ('532 B', '5.3 MB')
    """
    size = float(count or 0)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


@register.filter
def signal_title(signal: str) -> str:
    """Return the title of a check of a person."""
    return person_page.SIGNAL_TITLES.get(signal, signal)


@register.filter("named")
def name_for(user: User | None, names: VisibleNames | Any) -> str:
    """Return the person's name as the campaign's staff sees it; without a rule, the pseudonym."""
    if user is None:
        return "Assay"
    return names.of(user) if isinstance(names, VisibleNames) else user.pseudonym

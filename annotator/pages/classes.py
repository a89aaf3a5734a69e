"""The classes of a naming campaign: each beside its siblings, with definitions and examples."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_GET

from annotator.accounts import person
from annotator.kinds.naming import siblings_of
from annotator.pages import seats
from annotator.pages.worded import campaign_for
from labeling.errors import NotYours
from labeling.exchange.naming_campaigns import MAX_EXAMPLES

NO_CLASS = _("The campaign has no such class.")


@require_GET
def label_class(request: HttpRequest, name: str) -> HttpResponse:
    """Show the class `?key=`, by default the first, beside its siblings."""
    campaign = campaign_for(person(request), name)
    vocabulary = campaign.settings.get("vocabulary", ())
    key = request.GET.get("key") or (vocabulary[0]["key"] if vocabulary else "")
    # Only campaigns whose answers list several classes ("most") have this page.
    if "most" not in campaign.settings or key not in {entry["key"] for entry in vocabulary}:
        raise NotYours(gettext(NO_CLASS))
    group, siblings = siblings_of(vocabulary, key)
    topics = seats.topics_of(campaign, {entry["key"] for entry in siblings})
    rows = []
    for entry in siblings:
        topic = topics[entry["key"]]
        examples = [row for row in topic.get("examples", ()) if row["answer"] == "yes"]
        rows.append({**entry, "topic": topic, "examples": examples[:MAX_EXAMPLES]})
    context = {"campaign": campaign, "group": group, "classes": rows, "current": key}
    return render(request, "annotator/class.html", context)

"""Root URLs: the labeling pages and the other packages' URLs."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.urls import URLPattern, URLResolver, include, path, reverse_lazy
from django.views.generic import RedirectView, TemplateView

from annotator.language import Catalog
from annotator.pages import (
    classes,
    drafts,
    flags,
    home,
    language,
    last,
    preview,
    proposals,
    reputation,
    training,
    tutorial,
    views,
)

# One login and one password page, with rate limits, for the site and its admin.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
change_password = admin.site.admin_view(
    RedirectView.as_view(url=reverse_lazy("account_change_password"))
)

# Replaces the service worker of the former offline mode.
end_worker = TemplateView.as_view(
    template_name="annotator/along_worker.js", content_type="text/javascript"
)
catalog = Catalog.as_view()
to_label = RedirectView.as_view(pattern_name="label")
# accounts.LoginRequired leaves these alone; the admin has its own check.
for public in (change_password, end_worker, catalog, to_label):
    login_not_required(public)

handler500 = "annotator.refusals.server_error"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.home, name="home"),
    path("language/", language.set_language, name="set_language"),
    path("language/<str:language>-<str:version>.js", catalog, name="catalog"),
    path("photographs/", home.try_photographs, name="try_photographs"),
    path("next/", home.next_campaign, name="next_campaign"),
    path("join/<str:secret>/", views.join, name="join"),
    # The pages on which people label; a campaign's other pages are in labeling.urls.
    path("campaigns/<slug:name>/label/", views.label, name="label"),
    path("campaigns/<slug:name>/label/page/", views.label_page, name="label_page"),
    path("campaigns/<slug:name>/label/answers/", views.label_answers, name="label_answers"),
    path("campaigns/<slug:name>/label/skip/", views.label_skip, name="label_skip"),
    path("campaigns/<slug:name>/label/leave/", views.label_leave, name="label_leave"),
    path("campaigns/<slug:name>/label/seat/", drafts.label_seat, name="label_seat"),
    path("campaigns/<slug:name>/label/draft/", drafts.label_draft, name="label_draft"),
    path("campaigns/<slug:name>/label/propose/", proposals.label_propose, name="label_propose"),
    path("campaigns/<slug:name>/label/flag/", flags.label_flag, name="label_flag"),
    path("campaigns/<slug:name>/label/flags/", flags.label_flags, name="label_flags"),
    path("campaigns/<slug:name>/label/class/", classes.label_class, name="label_class"),
    # Pages of the second edition may still be open in browsers: keep these two for one release.
    path("campaigns/<slug:name>/label/along/", to_label),
    path("campaigns/<slug:name>/label/along/worker.js", end_worker),
    path("campaigns/<slug:name>/label/last/", last.label_last, name="label_last"),
    path(
        "campaigns/<slug:name>/instructions/<path:signed>",
        views.instructions_image,
        name="instructions_image",
    ),
    path("campaigns/<slug:name>/picture", home.campaign_picture, name="campaign_picture"),
    path("campaigns/<slug:name>/tutorial/", tutorial.tutorial, name="tutorial"),
    path("campaigns/<slug:name>/training/", training.training, name="training"),
    path("campaigns/<slug:name>/standing/", reputation.my_reputation, name="my_standing"),
    path("campaigns/<slug:name>/preview/", preview.preview, name="preview"),
    path("label/<str:token>/image", views.seat_image, name="seat_image"),
    path("label/example/<str:token>/image", views.example_image, name="example_image"),
    path("", include("labeling.urls")),
    path("", include("evaluation.urls")),
    path("api/", include("annotator.api_urls")),
    path("accounts/", include("allauth.urls")),
    path("admin/password_change/", change_password),
    path("admin/", admin.site.urls),
]

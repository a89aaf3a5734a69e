"""The administration: people and their rights are edited; other tables are read-only, since each
has one writer.
"""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import AdminPasswordChangeForm
from django.http import HttpRequest

from labeling.models import Campaign, Dataset, Decision, Invitation, Job, Membership, Release, User
from labeling.web import tokens


class PersonPasswordForm(AdminPasswordChangeForm):
    """Also revokes the person's API tokens when their password is disabled, which Django does not
    treat as a change.
    """

    def save(self, commit: bool = True) -> User:
        person = super().save(commit)
        if commit:
            tokens.revoke_all(person)
        return person


@admin.register(User)
class PersonAdmin(UserAdmin):
    list_display = ("username", "pseudonym", "is_researcher", "is_staff", "last_login")
    list_filter = ("is_researcher", "is_staff", "is_active")
    search_fields = ("username", "email", "pseudonym")
    readonly_fields = ("pseudonym",)
    change_password_form = PersonPasswordForm

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        deleted = super().get_deleted_objects(objs, request)
        if deleted[-1]:
            messages.warning(
                request,
                "Answers and roles of this person are kept. To end their access, open the person "
                "and uncheck Active.",
            )
        return deleted

    fieldsets = (
        *(UserAdmin.fieldsets or ()),
        ("Assay", {"fields": ("pseudonym", "is_researcher")}),
    )
    add_fieldsets = (*(UserAdmin.add_fieldsets or ()), ("Assay", {"fields": ("is_researcher",)}))


class ReadOnlyAdmin(admin.ModelAdmin):
    """A read-only table."""

    list_per_page = 50
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Dataset)
class DatasetAdmin(ReadOnlyAdmin):
    list_display = ("name", "owner", "created_at")
    list_select_related = ("owner",)
    search_fields = ("name",)


@admin.register(Campaign)
class CampaignAdmin(ReadOnlyAdmin):
    list_display = ("name", "title", "kind", "state", "dataset", "created_by", "created_at")
    list_filter = ("state", "kind")
    list_select_related = ("dataset", "created_by")
    search_fields = ("name", "title")


@admin.register(Membership)
class MembershipAdmin(ReadOnlyAdmin):
    list_display = ("user", "campaign", "role", "answered", "joined_at", "left_at")
    list_filter = ("role",)
    list_select_related = ("user", "campaign")
    search_fields = ("user__username", "campaign__name")


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    # The digest is of no use to anybody, and the secret is not stored.
    exclude = ("digest",)
    list_display = ("campaign", "role", "note", "uses", "max_uses", "expires_at", "revoked_at")
    list_select_related = ("campaign",)


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin):
    list_display = ("at", "campaign", "kind", "actor", "reason")
    list_filter = ("kind",)
    list_select_related = ("campaign", "actor")


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = ("kind", "key", "state", "attempts", "created_at", "error")
    list_filter = ("state", "kind")


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin):
    list_display = ("campaign", "number", "sha256", "created_at")
    list_select_related = ("campaign",)

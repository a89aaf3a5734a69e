"""The administration gives people their rights and changes nothing else."""

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from labeling.models import User
from tests import factories
from tests.cases import for_each


@pytest.fixture
def desk(db) -> Client:
    client = Client()
    client.force_login(factories.make_user("root", is_staff=True, is_superuser=True))
    return client


def models():
    return [model for model in admin.site._registry if model._meta.app_label == "labeling"]


@for_each("model", models())
def test_every_table_can_be_looked_at(desk, coots, model):
    response = desk.get(reverse(f"admin:labeling_{model._meta.model_name}_changelist"))

    assert response.status_code == 200


@for_each("model", [m for m in models() if m is not User])
def test_only_people_are_changed_here(desk, coots, model):
    response = desk.get(reverse(f"admin:labeling_{model._meta.model_name}_add"))

    assert response.status_code == 403


def test_an_administrator_makes_a_researcher(desk, bob):
    address = reverse("admin:labeling_user_change", args=[bob.pk])
    form = {
        "username": "bob",
        "password": bob.password,
        "is_active": "on",
        "is_researcher": "on",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
    }

    response = desk.post(address, form)

    assert response.status_code == 302, response.context["errors"]
    bob.refresh_from_db()
    assert bob.is_researcher


def test_people_other_than_staff_are_sent_away(alice):
    client = Client()
    client.force_login(alice)

    assert client.get("/admin/labeling/user/").status_code == 302

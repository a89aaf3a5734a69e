"""Forms that keep uploaded files for the next submission."""

import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.datastructures import MultiValueDict
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from labeling.disk_full import StorageFull
from labeling.errors import Refusal
from labeling.jobs import kept_files
from labeling.models import User


class KeptFile(UploadedFile):
    """An upload of an earlier submission, found by its token."""

    def __init__(self, user: User, token: str, name: str) -> None:
        """Raises Refusal if the file is gone or belongs to another user."""
        path = kept_files.find(user, token)
        handle = path.open("rb")
        weakref.finalize(self, handle.close)
        super().__init__(handle, name, size=path.stat().st_size)
        self.token = token


class KeptFileInput(forms.FileInput):
    """A file input that lists kept files and submits their tokens."""

    # (token, file name) of each kept file.
    kept: tuple[tuple[str, str], ...] = ()
    is_optional = False

    def use_required_attribute(self, initial: Any) -> bool:
        # Otherwise the browser would demand the file again.
        return super().use_required_attribute(initial) and not self.kept

    def render(
        self, name: str, value: Any, attrs: dict[str, object] | None = None, renderer: Any = None
    ) -> SafeString:
        chosen = super().render(name, value, attrs, renderer)
        if not self.kept:
            return chosen
        tokens = format_html_join(
            "",
            '<input type="hidden" name="{}_kept" value="{}:{}">',
            ((name, token, file) for token, file in self.kept),
        )
        words = ", ".join(file for _, file in self.kept)
        without = SafeString("")
        if self.is_optional:
            without = format_html(
                ' <label><input type="checkbox" name="{}_without"> Leave it out</label>', name
            )
        return format_html(
            '{}{}<div class="kept"><span>Kept: <b>{}</b>. Choose another only to replace it.</span>'
            "{}</div>",
            chosen,
            tokens,
            words,
            without,
        )


class KeepsFiles(forms.Form):
    """A form whose file fields use KeptFileInput.

    user: owner of the files. A view calls keep_files() before it shows the form again, and
    forget_files() on success.
    """

    # In bytes; None for kept_files.MAX_BYTES. Larger files are not kept.
    most_kept: int | None = None

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        self.user = user
        super().__init__(*args, **kwargs)
        if not isinstance(self.files, MultiValueDict):
            self.files = MultiValueDict({name: [file] for name, file in self.files.items()})

    def full_clean(self) -> None:
        gone = [name for name in self._file_fields() if not self._take_kept(name)]
        super().full_clean()
        for name in gone:
            self.errors.pop(name, None)
            self.add_error(name, kept_files.DELETED)

    def keep_files(self) -> None:
        """Keep the uploaded files for the next submission, unless the disk is full."""
        for name in self._file_fields():
            files = [file for file in self.files.getlist(name) if self._may_keep(file)]
            with suppress(StorageFull):
                kept = [(self._token(file, name), str(file.name)) for file in files]
                self._show_kept(name, kept)

    def forget_files(self) -> None:
        """Remove the kept files."""
        for name in self._file_fields():
            for token, _ in self._sent_tokens(name):
                kept_files.forget(self.user, token)
            for file in self.files.getlist(name):
                kept_files.forget(self.user, getattr(file, "token", ""))

    def offer_files(self, sent: Any) -> None:
        """Show files that another form kept in this unbound form. sent: data with their tokens."""
        for name in self._file_fields():
            kept = []
            for token, file in self._sent_tokens(name, sent):
                try:
                    kept_files.find(self.user, token)
                except Refusal:
                    continue
                kept.append((token, file))
            self._show_kept(name, kept)

    def path(self, name: str) -> Path:
        """Return the path of the field's file, keeping it if necessary. Raises TooLarge."""
        file = self.files[name]
        assert isinstance(file, UploadedFile)
        return kept_files.find(self.user, self._token(file, name))

    def _take_kept(self, name: str) -> bool:
        """Add the field's kept files to the uploads; return False if one is gone."""
        tokens = self._sent_tokens(name)
        if self.files.get(name) or not tokens or f"{name}_without" in self.data:
            return True
        try:
            kept: list[UploadedFile] = [KeptFile(self.user, token, file) for token, file in tokens]
        except Refusal:
            return False
        self.files = self.files.copy()
        self.files.setlist(name, kept)
        return True

    def _token(self, file: UploadedFile, name: str) -> str:
        token: str | None = getattr(file, "token", None)
        if token is None:
            token = kept_files.keep(self.user, file, self.most_kept, name)
            setattr(file, "token", token)  # noqa: B010  Django's class has no such attribute
        return token

    def _may_keep(self, file: UploadedFile) -> bool:
        most = kept_files.MAX_BYTES if self.most_kept is None else self.most_kept
        return bool(file.name) and file.size is not None and 0 < file.size <= most

    def _sent_tokens(self, name: str, sent: Any = None) -> list[tuple[str, str]]:
        data = self.data if sent is None else sent
        sent_values = data.getlist(f"{name}_kept") if hasattr(data, "getlist") else []
        rows = (value.partition(":") for value in sent_values)
        # Names go to messages and the database. Browsers send no unprintable characters.
        return [(token, "".join(filter(str.isprintable, file))) for token, _, file in rows]

    def _file_fields(self) -> list[str]:
        return [n for n, field in self.fields.items() if isinstance(field, forms.FileField)]

    def _show_kept(self, name: str, kept: list[tuple[str, str]]) -> None:
        widget = self.fields[name].widget
        assert isinstance(widget, KeptFileInput), f"{name} has another input"
        widget.kept, widget.is_optional = tuple(kept), not self.fields[name].required

"""Static files with hashed names, which browsers cache for good."""

from django.conf import settings
from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedFiles(CompressedManifestStaticFilesStorage):
    """Static files as collectstatic wrote them: hashed, also in imports of scripts, and compressed.

    Before collectstatic, and after a change in static/, files keep their plain names.
    """

    support_js_module_import_aggregation = True
    # One pass per level of script imports, which are 9 deep, and some to spare.
    max_post_process_passes = 12
    # whitenoise serves files with plain names from their source folders.
    keep_only_hashed_files = True
    worker = r"""(?P<matched>new URL\("(?P<url>\./[^"]+)", import\.meta\.url\))"""
    patterns = (
        *CompressedManifestStaticFilesStorage.patterns,
        ("*.js", ((worker, 'new URL("%(url)s", import.meta.url)'),)),
    )

    def load_manifest(self) -> tuple[dict[str, str], str]:
        """Return an empty manifest if a source file is newer, since it would name an old copy."""
        if not self.manifest_storage.exists(self.manifest_name):
            return {}, ""
        collected = self.manifest_storage.get_modified_time(self.manifest_name).timestamp()
        files = settings.STATICFILES_DIRS[0].rglob("*")
        if any(file.stat().st_mtime > collected for file in files):
            return {}, ""
        manifest: tuple[dict[str, str], str] = super().load_manifest()
        return manifest

    def stored_name(self, name: str) -> str:
        return str(super().stored_name(name)) if self.hashed_files else name

    def create_compressor(self, **options: object) -> Compressor:
        """Skip source maps: those of the API's pages would take half of the time."""
        skipped = (*Compressor.SKIP_COMPRESS_EXTENSIONS, "map")
        return Compressor(**options | {"extensions": skipped})

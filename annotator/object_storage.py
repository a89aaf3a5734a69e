"""The entry of STORAGES for an object store (S3's protocol)."""

from typing import Any

from botocore.config import Config


def storage_of_bucket(
    bucket: str, *, endpoint: str, region: str, key_id: str, secret: str
) -> dict[str, Any]:
    """An entry of STORAGES: the bucket, in which names that are taken are kept.

    endpoint: the address of the store; empty: Amazon's.
    """
    return {
        "BACKEND": "storages.backends.s3.S3Storage",
        "OPTIONS": {
            "bucket_name": bucket,
            "endpoint_url": endpoint or None,
            "region_name": region,
            "access_key": key_id,
            "secret_key": secret,
            "file_overwrite": False,
            "client_config": Config(
                signature_version="s3v4",
                s3={"addressing_style": "path"},
                # Other stores than Amazon's do not know the checksums of newer versions.
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
                # Seconds. A store that accepts and says nothing must not hold a request.
                connect_timeout=3,
                read_timeout=10,
                retries={"total_max_attempts": 2},
            ),
        },
    }

# Two images of one site, both run by a user without rights: `web` (the last stage) has no torch,
# `worker` has it. compose.yaml builds them:
#   docker build --target web -t assay-web .
#   docker build --target worker --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cpu -t assay-worker .

FROM python:3.11-slim-bookworm AS packages
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /srv/venv
ENV PATH=/srv/venv/bin:$PATH
WORKDIR /srv/assay
COPY requirements.txt requirements.lock ./
# The lock has everything but torch and what CUDA needs.
RUN pip install --no-deps --require-hashes -r requirements.lock

FROM packages AS packages-with-torch
# An index of builds for the CPU, a tenth of the size; empty: PyPI's, for CUDA.
ARG TORCH_INDEX=""
RUN PIP_EXTRA_INDEX_URL="$TORCH_INDEX" pip install -r requirements.txt

FROM python:3.11-slim-bookworm AS wordnet
COPY deploy/wordnet.sh /srv/assay/deploy/
RUN sh /srv/assay/deploy/wordnet.sh /srv/wordnet

# Debian's, in transaction mode (deploy/compose/pgbouncer.ini).
FROM debian:bookworm-slim AS pgbouncer
RUN apt-get update \
    && apt-get install -y --no-install-recommends pgbouncer \
    && rm -rf /var/lib/apt/lists/*
COPY deploy/compose/pgbouncer.ini /etc/pgbouncer/pgbouncer.ini
USER postgres
EXPOSE 6432
CMD ["pgbouncer", "/etc/pgbouncer/pgbouncer.ini"]

FROM python:3.11-slim-bookworm AS site
# pg_dump and pg_restore, for backup and restore: of the server's version or later.
RUN apt-get update \
    && apt-get install -y --no-install-recommends postgresql-client \
    && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid 10001 assay \
    && useradd --uid 10001 --gid assay --home-dir /srv/data --no-create-home --shell /usr/sbin/nologin assay \
    && install -d -o assay -g assay -m 700 /srv/data \
    && install -d -o assay -g assay -m 755 /srv/secrets /srv/secrets-of-db /srv/secrets-of-pgbouncer
ENV PATH=/srv/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    ASSAY_DATA=/srv/data \
    ASSAY_WORDNET=/srv/wordnet \
    NUMBA_CACHE_DIR=/srv/data/numba
WORKDIR /srv/assay
COPY --from=wordnet /srv/wordnet /srv/wordnet
COPY . .
USER assay

FROM site AS worker
COPY --from=packages-with-torch /srv/venv /srv/venv
CMD ["celery", "-A", "annotator", "worker", "--loglevel", "INFO"]

FROM site AS web
COPY --from=packages /srv/venv /srv/venv
# Written by root; Docker runs it again where a file before it changed.
USER root
RUN python manage.py collectstatic --no-input
USER assay
ENV WEB_BIND=0.0.0.0:8000
EXPOSE 8000
CMD ["gunicorn", "annotator.wsgi", "--config", "deploy/gunicorn_config.py"]

#!/bin/sh
# Puts WordNet 3.0 into var/wordnet (or the folder given), as any user, and does nothing where it is
# there already. From Debian's packages by apt-get, without installing them and without touching the
# system's lists; where there is no apt-get, from nltk's data.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
goal=${1:-${ASSAY_DATA:-$root/var}/wordnet}

# Debian builds the database itself, so that its verbs are numbered otherwise; the nouns are the same.
debian=fea17d2f9656611334eac790e5d69e47645fa180c4aa481fb4cd9b3520754ca2
princeton=489f145e0f68877c0be5bd0eb4117adaaac52f38f6204eb8d85dbe2158b614cc

is_whole() {
    [ -f "$1/data.noun" ] && [ -f "$1/index.noun" ] || return 1
    sum=$(sha256 "$1/data.noun")
    [ "$sum" = "$debian" ] || [ "$sum" = "$princeton" ]
}

sha256() {
    if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1" | cut -d ' ' -f 1
    else shasum -a 256 "$1" | cut -d ' ' -f 1; fi
}

say() { printf '%s\n' "$*" >&2; }

if is_whole "$goal"; then
    exit 0
fi

mkdir -p "$(dirname -- "$goal")"
work=$(mktemp -d "$(dirname -- "$goal")/.wordnet.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir "$work/dict"

# Lists and cache of our own: the system's may be empty, and are not ours to write. Nor are its hooks
# ours to run.
own_apt() {
    mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
    printf '#clear APT::Update::%s;\n' Pre-Invoke Post-Invoke Post-Invoke-Success >"$work/apt/conf"
    apt-get -qq -c "$work/apt/conf" -o Dir::State::lists="$work/apt/lists" \
        -o Dir::Cache="$work/apt/cache" -o APT::Sandbox::User= -o Debug::NoLocking=1 \
        -o Acquire::Languages=none "$@"
}

from_debian() {
    command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || return 1
    mkdir "$work/deb"
    cd "$work/deb"
    if ! apt-get -qq -o APT::Sandbox::User= download wordnet-base wordnet-sense-index 2>/dev/null
    then
        rm -f ./*.deb
        own_apt update || say "some package lists could not be read; going on"
        own_apt download wordnet-base wordnet-sense-index || return 1
    fi
    for package in ./*.deb; do
        dpkg-deb -x "$package" "$work/deb/out" || return 1
    done
    cp "$work/deb/out/usr/share/wordnet/"* "$work/dict/"
}

from_nltk() {
    address=https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/wordnet.zip
    python=$root/.venv/bin/python
    [ -x "$python" ] || python=python3
    command -v "$python" >/dev/null 2>&1 || return 1
    "$python" - "$address" "$work" <<'PYTHON'
import pathlib
import sys
import urllib.request
import zipfile

address, work = sys.argv[1], pathlib.Path(sys.argv[2])
try:
    with urllib.request.urlopen(address, timeout=120) as answer:
        (work / "wordnet.zip").write_bytes(answer.read())
except OSError as error:
    sys.exit(f"{address}: {error}")
with zipfile.ZipFile(work / "wordnet.zip") as archive:
    for name in archive.namelist():
        file = pathlib.PurePosixPath(name).name
        if file and ".." not in name:
            (work / "dict" / file).write_bytes(archive.read(name))
PYTHON
}

for source in from_debian from_nltk; do
    if ($source) && is_whole "$work/dict"; then
        rm -rf "$goal"
        mv "$work/dict" "$goal"
        chmod -R a+rX "$goal"
        exit 0
    fi
    rm -rf "$work/dict" "$work/deb"
    mkdir "$work/dict"
done

say "WordNet 3.0 could not be fetched. Install Debian's wordnet-base, or put WordNet 3.0's dict"
say "folder somewhere and set ASSAY_WORDNET to it."
exit 1

"""The documents of a published release: card, datasheet, and DataCite metadata."""

import re
from collections.abc import Mapping

import yaml

from labeling.publishing.facts import NOT_STATED, UNKNOWN, Facts
from labeling.publishing.tables import TableHead

# Hugging Face's identifiers of licences: the usual name in lower case, with hyphens for spaces.
KNOWN_LICENCES = re.compile(
    r"cc0-1\.0|cc-by(-nc)?(-sa|-nd)?-[234]\.0|mit|apache-2\.0|odbl|odc-by|pddl"
)
# Hugging Face's categories of size; each holds fewer images than its limit.
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
LARGEST_CATEGORY = "1M<n<10M"
# DataCite's code for a value that the author of the metadata does not know.
UNAVAILABLE = ":unav"
COLUMN_NOTES = {
    "images": "one row per image: size, licence, source, classes by value, objects",
    "labels": "one row per label of a class",
    "objects": "one row per object or part: box (x, y, width, height), area, polygons",
    "votes": "one row per vote, under pseudonyms of this release",
}


def card(facts: Facts, files: Mapping[str, TableHead]) -> str:
    """Return README.md, with the YAML that Hugging Face needs to load the folder."""
    head: dict[str, object] = {
        "pretty_name": facts.title,
        **_licence(facts),
        "task_categories": [facts.task],
        "annotations_creators": ["crowdsourced" if len(facts.people) > 1 else "expert-generated"],
        "size_categories": [
            next((size for most, size in SIZES if facts.images < most), LARGEST_CATEGORY)
        ],
        "configs": [
            {
                "config_name": name,
                **({"default": True} if name == "images" else {}),
                "data_files": [{"split": "train", "path": f"data/{name}.parquet"}],
            }
            for name in files
        ],
    }
    tables = "\n".join(
        f"| {name} | {file['rows']:,} | {COLUMN_NOTES[name]} |" for name, file in files.items()
    )
    licences = "\n".join(f"| {_cell(name)} | {count:,} |" for name, count in facts.licence_rows)
    text = facts.statements()
    return f"""---
{yaml.safe_dump(head, sort_keys=False, allow_unicode=True).strip()}
---

# {facts.title}

{text["dataCollection"]} {text["dataPreprocessingProtocol"]}

| table | rows | contents |
|---|---|---|
{tables}

The split is called train because `datasets` needs a name; the release has no split.

## Quality

{text["dataAnnotationAnalysis"]} {text["annotatorDemographics"]} {text["annotationsPerItem"]}

{text["dataCollectionMissingData"]}

## Licences of the images

| licence | images |
|---|---|
{licences}

Licence of the labels: {UNKNOWN}.

## Classes

{_classes(facts)}

{text["dataReleaseMaintenancePlan"]}
"""


def _licence(facts: Facts) -> dict[str, str]:
    names = list(facts.licences)
    if names == [UNKNOWN] or not names:
        return {"license": UNKNOWN}
    key = names[0].lower().replace(" ", "-")
    if len(names) == 1 and KNOWN_LICENCES.fullmatch(key):
        return {"license": key}
    return {"license": "other", "license_name": "see-the-column-licence"}


def _classes(facts: Facts) -> str:
    rows = "\n".join(f"| {_cell(key)} | {_cell(name)} |" for key, name in facts.classes.items())
    return f"| class | name |\n|---|---|\n{rows}"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def datasheet(facts: Facts) -> str:
    """Return datasheet.md, by the sections of Gebru et al. (2021)."""
    text = facts.statements()
    policy = yaml.safe_dump(dict(facts.policy), sort_keys=True, allow_unicode=True).strip()
    boxes = yaml.safe_dump(dict(facts.stated_boxes)).strip() if facts.stated_boxes else ""
    box_error = f"\n\nStated IoU error of boxes by class:\n\n```yaml\n{boxes}\n```" if boxes else ""
    started = facts.started[:10] or UNKNOWN
    return f"""# Datasheet: {facts.title}

## Motivation

{NOT_STATED}

## Composition

- Images: {facts.images:,}. Labels: {facts.labels:,}. Objects and parts: {facts.objects:,}.
- Classes: {len(facts.classes):,}.
- {text["dataCollectionMissingData"]}
- {text["personalSensitiveInformation"]}

## Collection

- {text["dataCollection"]}
- Campaign opened: {started}. Release frozen: {facts.frozen[:10]}.
- {text["annotatorDemographics"]} Votes: {facts.votes:,}. {text["annotationsPerItem"]}
- {text["dataAnnotationProtocol"]}
- {facts.error}{box_error}

## Preprocessing

{text["dataPreprocessingProtocol"]}

## Uses

{text["dataUseCases"]} {text["dataBiases"]} {text["dataLimitations"]}

## Distribution

Licences of the images: {"; ".join(f"{name} ({count})" for name, count in facts.licence_rows)}.
Licence of the labels: {UNKNOWN}.

## Maintenance

{text["dataReleaseMaintenancePlan"]}

## Policy

```yaml
{policy}
```
"""


def datacite(facts: Facts) -> dict[str, object]:
    """Return metadata by the schema of DataCite 4, which Zenodo reads too.

    The researchers fill in creators and publisher.
    """
    text = facts.statements()
    return {
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": "labeled images"},
        "titles": [{"title": facts.title}],
        "creators": [{"name": UNAVAILABLE}],
        "publisher": UNAVAILABLE,
        "publicationYear": facts.frozen[:4],
        "version": str(facts.number),
        "dates": [
            {"date": day[:10], "dateType": kind}
            for day, kind in ((facts.started, "Created"), (facts.frozen, "Issued"))
            if day
        ],
        "subjects": [{"subject": name} for name in facts.classes.values()],
        "descriptions": [
            {"description": text["dataCollection"], "descriptionType": "Abstract"},
            {"description": text["dataAnnotationProtocol"], "descriptionType": "Methods"},
            {"description": facts.error, "descriptionType": "TechnicalInfo"},
        ],
        "rightsList": [{"rights": name} for name, _ in facts.licence_rows],
        "alternateIdentifiers": [
            {"alternateIdentifier": facts.sha256, "alternateIdentifierType": "SHA-256"}
        ],
        "sizes": [f"{facts.images} images", f"{facts.votes} votes"],
        "formats": ["application/x-parquet"],
        "schemaVersion": "http://datacite.org/schema/kernel-4",
    }

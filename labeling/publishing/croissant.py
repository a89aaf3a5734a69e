"""Croissant metadata (JSON-LD) of a published release, with its Responsible-AI fields.

Croissant 1.1 and RAI 1.0 by MLCommons.
"""

from collections.abc import Mapping

from labeling.publishing.facts import UNKNOWN, Facts
from labeling.publishing.tables import COLUMNS, COUNT, FLAG, NUMBER, TEXT, TableHead

Json = dict[str, object]

CONTEXT: Json = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "prov": "http://www.w3.org/ns/prov#",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
TYPES = {TEXT: "sc:Text", NUMBER: "sc:Float", COUNT: "sc:Integer", FLAG: "sc:Boolean"}


def describe(facts: Facts, files: Mapping[str, TableHead]) -> Json:
    """Return croissant.json. files: the head of each table."""
    rai = {f"rai:{name}": text for name, text in facts.statements().items()}
    days = [day[:10] for day in (facts.started, facts.frozen) if day]
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": facts.name,
        "description": facts.title,
        "conformsTo": [
            "http://mlcommons.org/croissant/1.1",
            "http://mlcommons.org/croissant/RAI/1.0",
        ],
        "license": [name for name, _ in facts.licence_rows] or [UNKNOWN],
        "citeAs": (
            f"@misc{{{facts.name}, title={{{facts.title}}}, year={{{facts.frozen[:4]}}}, "
            f"note={{Assay release {facts.number}, SHA-256 {facts.sha256}}}}}"
        ),
        "version": f"{facts.number}.0.0",
        "datePublished": facts.frozen,
        "dateCreated": facts.frozen,
        "isLiveDataset": False,
        "keywords": [facts.task, facts.kind],
        **rai,
        "rai:dataCollectionTimeframe": days,
        "rai:hasSyntheticData": False,
        "prov:wasDerivedFrom": f"dataset {facts.dataset}",
        "prov:wasGeneratedBy": f"Assay release {facts.number}, SHA-256 {facts.sha256}",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": f"{name}.parquet",
                "name": f"{name}.parquet",
                "contentUrl": f"data/{name}.parquet",
                "encodingFormat": "application/x-parquet",
                "contentSize": f"{file['bytes']} B",
                "sha256": file["sha256"],
            }
            for name, file in files.items()
        ],
        "recordSet": [_record_set(name, facts.with_images) for name in files],
    }


def _record_set(name: str, with_images: bool) -> Json:
    fields = [
        _field(name, column, TYPES[column_type.removesuffix("[]")])
        | ({"repeated": True} if column_type.endswith("[]") else {})
        for column, column_type in COLUMNS[name].items()
    ]
    if name == "images" and with_images:
        fields.insert(0, _field(name, "image", "sc:ImageObject", transform={"jsonPath": "bytes"}))
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields}


def _field(table: str, column: str, data_type: str, **source: object) -> Json:
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{column}",
        "name": f"{table}/{column}",
        "dataType": data_type,
        "source": {"fileObject": {"@id": f"{table}.parquet"}, "extract": {"column": column}}
        | source,
    }

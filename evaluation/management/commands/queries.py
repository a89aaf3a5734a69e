"""`manage.py queries build`: write queries for a list of classes, one file per search engine."""

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.collecting import class_lists, queries, search_engines
from evaluation.collecting.queries import Built, EngineFile, Query
from evaluation.collecting.search_engines import SearchEngine
from evaluation.collecting.translations import Words
from evaluation.collecting.translations import read as read_words
from evaluation.readers.class_files import load_wordnet
from evaluation.readers.shipped import classes_file
from labeling.bounded_numbers import whole
from labeling.files import BadInput, atomic_write, text_lines
from labeling.management.contract import ContractCommand, UsageError, verb
from labeling.management.options import argument, option
from labeling.release_files import frozen

DEFAULT_CLASSES = "ilsvrc"
ALL = "all"
COLUMNS = ("wnid", "query", "language", "kind")


@dataclass(kw_only=True)
class BuildOptions:
    classes: Path = argument(
        "a class a line, as classes check reads it; ilsvrc: the 1000 of ILSVRC 2012",
        type=classes_file,
        metavar="CLASSES.txt",
    )
    translations: list[Path] = option(
        "words of another language: Open Multilingual Wordnet 1.x, offsets of WordNet 3.0",
        [],
        metavar="FILE.tab",
    )
    scenes: str | None = option(
        f"queries for scenes, one a line; {DEFAULT_CLASSES}: the 129 of ILSVRC's detection",
        metavar=f"FILE|{DEFAULT_CLASSES}",
    )
    pairs: str | None = option(
        "queries of two classes: so many of them, by hash, or all", metavar=f"N|{ALL}"
    )
    seed: int = option("of the pairs (0)", 0, type=whole())
    engines: Path | None = option(
        "engine,quotes,words,characters rows; without it bing, commons, flickr, google and "
        "openverse",
        metavar="FILE",
    )
    out: Path = option("a new folder: ENGINE.csv each", metavar="DIR")


class Command(ContractCommand):
    help = "Queries by which search engines find images of classes, and of scenes."

    @verb("write a file for each engine")
    def build(self, options: BuildOptions) -> Built:
        out, pairs, scenes = options.out, options.pairs, options.scenes
        frozen.check_goal(out)
        wordnet = load_wordnet()
        class_list = class_lists.read(options.classes, wordnet)
        engines = search_engines.read(options.engines or search_engines.DEFAULT_FILE)
        dictionaries = [read_words(path, wordnet) for path in options.translations]
        _check_languages(dictionaries)
        all_queries = [
            query
            for synset in class_list.synsets
            for query in queries.of_class(synset, wordnet, dictionaries)
        ]
        if pairs:
            count = _pair_count(pairs)
            all_queries += queries.pairs(class_list.synsets, wordnet, count, options.seed)
        if scenes is not None:
            path = queries.SCENES if scenes == DEFAULT_CLASSES else Path(scenes)
            all_queries += queries.scenes(text_lines(path))
        with frozen.appearing(out) as unfinished:
            files = [_write(unfinished, engine, all_queries) for engine in engines]
        return Built(
            classes=len(class_list.synsets),
            by_kind=dict(Counter(query.kind for query in all_queries)),
            by_language=dict(Counter(query.language for query in all_queries)),
            without={
                dictionary.language: sum(
                    synset not in dictionary.of for synset in class_list.synsets
                )
                for dictionary in dictionaries
            },
            files=files,
        )


def _check_languages(dictionaries: Sequence[Words]) -> None:
    """Raise BadInput if two files are of one language, or one is English, as WordNet is."""
    files: dict[str, Path] = {queries.ENGLISH: Path("WordNet")}
    for dictionary in dictionaries:
        if dictionary.language in files:
            fault = (
                f"is of the language {dictionary.language}, as {files[dictionary.language].name} is"
            )
            raise BadInput(fault, dictionary.path, 1, "give one file for a language")
        files[dictionary.language] = dictionary.path


def _pair_count(pairs: str) -> int | None:
    """Return the number of pairs to draw, None for all. Raises UsageError."""
    if pairs == ALL:
        return None
    if not pairs.isdecimal() or not int(pairs):
        raise UsageError(f"--pairs {pairs!r} is not a number from 1, and not {ALL}")
    return int(pairs)


def _write(folder: Path, engine: SearchEngine, all_queries: Sequence[Query]) -> EngineFile:
    """Write the queries that the engine accepts; return the name and counts of the file."""
    rows, refused, shared = queries.engine_queries(all_queries, engine)
    name = f"{engine.name}.csv"
    with atomic_write(folder / name) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(
            (" ".join(query.wnids), text, query.language, query.kind) for text, query in rows
        )
    return EngineFile(
        engine=engine.name, file=name, queries=len(rows), refused=refused, shared=shared
    )

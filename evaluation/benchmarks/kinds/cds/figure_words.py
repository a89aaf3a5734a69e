"""What each figure of a CDS result says, in a sentence: for those who cannot see it. Pure.

The numbers are in the table beside the figure; this is the finding.
"""

from collections.abc import Callable

from evaluation.scoring.cds import tables, wording
from evaluation.scoring.cds.tables import Chosen, Result


def alt(name: str, result: Result, chosen: Chosen) -> str:
    """The finding of a figure of FIGURES."""
    return WORDS[name](result, chosen)


def _content(measure: str) -> Callable[[Result, Chosen], str]:
    def words(result: Result, chosen: Chosen) -> str:
        rows = tables.standings(result, measure, chosen.averaging)
        told = []
        for at, scheme in enumerate(tables.content_schemes(result)):
            found = [
                (row["cells"][at]["value"], row["classifier"])
                for row in rows
                if row["cells"][at] and not row["is_people"]
            ]
            if found:
                value, classifier = min(found)
                told.append(f"{wording.content_scheme(scheme)}: {classifier}, {value:.3f}")
        people = [
            f"{cell['value']:.3f} at {wording.content_scheme(scheme)}"
            for row in rows
            if row["is_people"]
            for scheme, cell in zip(tables.content_schemes(result), row["cells"], strict=True)
            if cell
        ]
        return (
            f"Lowest {wording.SCORES[measure]} of a classifier at each content scheme. "
            f"{'; '.join(told)}." + (f" People: {', '.join(people)}." if people else "")
        )

    return words


def _error(result: Result, chosen: Chosen) -> str:
    told = [
        f"{row['classifier']} {row['error']:.2f}"
        for row in tables.errors(result)
        if row["error"] is not None
    ]
    return f"Median error on whole objects, least first: {', '.join(told)}."


def _part(measure: str) -> Callable[[Result, Chosen], str]:
    def words(result: Result, chosen: Chosen) -> str:
        schemes = tables.part_schemes(result)
        told = []
        for row in tables.by_part_scheme(result, measure, chosen.averaging):
            cells = [
                (cell["value"], scheme)
                for scheme, cell in zip(schemes, row["cells"], strict=True)
                if cell
            ]
            if cells:
                low, high = min(cells), max(cells)
                told.append(
                    f"{row['classifier']} from {low[0]:.3f} ({low[1]}) to {high[0]:.3f} ({high[1]})"
                )
        return f"{wording.SCORES[measure]} by part scheme: {'; '.join(told)}."

    return words


def _wins(result: Result, chosen: Chosen) -> str:
    told = [
        f"{row['name']}: lowest {row['cds']['lowest']}, highest {row['cds']['highest']}"
        for row in tables.winners(result)
        if "cds" in row
    ]
    return f"Who most often has the lowest and the highest CDS. {'; '.join(told)}."


def _correlation(result: Result, chosen: Chosen) -> str:
    found = tables.rows_of(result, "error_correlation", averaging=chosen.averaging, error="frames")
    told = [
        f"{wording.SCORES[row['measure']]} Pearson {_number(row['pearson'])}, "
        f"p {_number(row['pearson_p'])}"
        for row in found
    ]
    return f"Scores against the share of wrong frames by content scheme: {'; '.join(told)}."


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def _ratio(result: Result, chosen: Chosen) -> str:
    rows = tables.ratios(result, chosen.of)
    total = sum(row["total"] for row in rows)
    if not total:
        return "CL-ratios: no sequence has a right answer after a wrong one."
    whole = sum(row["counts"][9] for row in rows)
    broken = sum(sum(row["counts"][:5]) for row in rows)
    whose = f" of {chosen.of}" if chosen.of else ""
    return (
        f"CL-ratios{whose} by index: of {total} runs of right answers {whole / total:.0%} last to "
        f"the whole object or nearly, {broken / total:.0%} break off before half of what remains."
    )


def _presence(result: Result, chosen: Chosen) -> str:
    told = [
        f"{row['name']} {row['below_half']:.0%}"
        for row in tables.presence(result)
        if row["below_half"] is not None
    ]
    return f"Objects with less than half of their category's parts: {', '.join(told)}."


def _hardness(result: Result, chosen: Chosen) -> str:
    told = []
    for form in wording.HARDNESS:
        rows = tables.hardness(result, form)
        if rows:
            least = min(rows, key=lambda row: row["median"])
            most = max(rows, key=lambda row: row["median"])
            told.append(
                f"by {wording.HARDNESS[form]} its median runs from {least['median']:.3f} "
                f"({wording.content_scheme(least['of'])}) to {most['median']:.3f} "
                f"({wording.content_scheme(most['of'])})"
            )
    return f"Semantic hardness of every object, easiest first: {'; '.join(told)}."


WORDS: dict[str, Callable[[Result, Chosen], str]] = {
    "content": _content("cds"),
    "content-b": _content("b_cds"),
    "error": _error,
    "part": _part("cds"),
    "part-b": _part("b_cds"),
    "wins": _wins,
    "correlation": _correlation,
    "cl-ratio": _ratio,
    "presence": _presence,
    "hardness": _hardness,
}

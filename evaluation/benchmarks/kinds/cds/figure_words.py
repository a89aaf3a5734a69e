"""Alt texts of the figures of a CDS result. Pure.

The numbers are in the table beside the figure; each text states the finding.
"""

from evaluation.scoring.cds import tables, wording
from evaluation.scoring.cds.result import CdsResult
from evaluation.scoring.cds.tables import ReaderChoice


def content(measure: str, result: CdsResult, chosen: ReaderChoice) -> str:
    rows = tables.classifier_rows(result, measure, chosen.averaging)
    machines, people = [], []
    for at, scheme in enumerate(map(wording.content_scheme, tables.content_schemes(result))):
        cells = [(row, cell.value) for row in rows if (cell := row.cells[at])]
        machine_scores = [(value, row.classifier) for row, value in cells if not row.is_people]
        if machine_scores:
            value, classifier = min(machine_scores)
            machines.append(f"{scheme}: {classifier}, {value:.3f}")
        people += [f"{value:.3f} at {scheme}" for row, value in cells if row.is_people]
    return (
        f"Lowest {wording.SCORES[measure]} of a classifier at each content scheme. "
        f"{'; '.join(machines)}." + (f" People: {', '.join(people)}." if people else "")
    )


def error(result: CdsResult, chosen: ReaderChoice) -> str:
    rows = tables.errors(result)
    each = [f"{row.classifier} {row.error:.2f}" for row in rows if row.error is not None]
    return f"Median error on whole objects, least first: {', '.join(each)}."


def part(measure: str, result: CdsResult, chosen: ReaderChoice) -> str:
    schemes = tables.part_schemes(result)
    each = []
    for row in tables.by_part_scheme(result, measure, chosen.averaging):
        both = zip(schemes, row.cells, strict=True)
        cells = [(cell.value, scheme) for scheme, cell in both if cell]
        if cells:
            low, high = min(cells), max(cells)
            each.append(
                f"{row.classifier} from {low[0]:.3f} ({low[1]}) to {high[0]:.3f} ({high[1]})"
            )
    return f"{wording.SCORES[measure]} by part scheme: {'; '.join(each)}."


def wins(result: CdsResult, chosen: ReaderChoice) -> str:
    each = [
        f"{row.name}: lowest {row.cds.lowest}, highest {row.cds.highest}"
        for row in tables.winners(result)
        if row.cds
    ]
    return f"Who most often has the lowest and the highest CDS. {'; '.join(each)}."


def correlation(result: CdsResult, chosen: ReaderChoice) -> str:
    rows = tables.where(result.tables.error_correlation, averaging=chosen.averaging, error="frames")
    each = [
        f"{wording.SCORES[row.measure]} Pearson {_number(row.pearson)}, p {_number(row.pearson_p)}"
        for row in rows
    ]
    return f"Scores against the share of wrong frames by content scheme: {'; '.join(each)}."


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def ratio(result: CdsResult, chosen: ReaderChoice) -> str:
    rows = tables.ratios(result, chosen.of)
    total = sum(row.total for row in rows)
    if not total:
        return "CL-ratios: no sequence has a right answer after a wrong one."
    whole = sum(row.counts[9] for row in rows)
    broken = sum(sum(row.counts[:5]) for row in rows)
    whose = f" of {chosen.of}" if chosen.of else ""
    return (
        f"CL-ratios{whose} by index: of {total} runs of right answers {whole / total:.0%} last to "
        f"the whole object or nearly, {broken / total:.0%} break off before half of what remains."
    )


def presence(result: CdsResult, chosen: ReaderChoice) -> str:
    each = [
        f"{row.name} {row.below_half:.0%}"
        for row in tables.presence(result)
        if row.below_half is not None
    ]
    return f"Objects with less than half of their category's parts: {', '.join(each)}."


def hardness(result: CdsResult, chosen: ReaderChoice) -> str:
    each = []
    for form, name in wording.HARDNESS.items():
        rows = tables.hardness(result, form)
        if rows:
            least, most = (pick(rows, key=lambda row: row.median) for pick in (min, max))
            each.append(
                f"by {name} its median runs from {least.median:.3f} ({least.name}) to "
                f"{most.median:.3f} ({most.name})"
            )
    return f"Semantic hardness of every object, easiest first: {'; '.join(each)}."

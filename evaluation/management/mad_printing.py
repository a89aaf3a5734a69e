"""The table that `mad rank` prints."""

from evaluation.metrics.mad.results import Ranking
from labeling.management.contract import table


def show_ranking(result: Ranking) -> str:
    order = result.sure_order()
    head = ["rank", "classifier", "images", "score", f"places at {100 * order.level:g} %"]
    rows = [
        (
            f"{result.ranks[i]:g}",
            result.classifiers[i],
            (result.images or [])[i],
            f"{result.scores[i]:.4f}",
            f"{first} – {last}",
            f"{result.hodge.ranks[i]:g}",
        )
        for i, (first, last) in zip(result.by_rank(), order.places, strict=True)
    ]
    lines = [table(rows, [*head, "Hodge rank"]), ""]
    if order.words:
        lines += [order.words, ""]
    lines.append("images: " + ", ".join(f"case {k} {n}" for k, n in result.cases.items()))
    lines += result.counted_images()
    drawn = result.bootstrap
    if drawn.left_out:
        lines.append(f"{drawn.left_out} of {drawn.rounds} rounds had no ranking: left out")
    lines.append(f"smoothing: {result.smoothing}; cyclicity {result.hodge.cyclicity:.4f}")
    if result.spearman is not None:
        lines.append(f"against accuracy: Spearman {result.spearman:.4f}, Kendall ")
        lines[-1] += f"{result.kendall:.4f}"
    if result.ablation is not None:
        lines += ["", table([(row.k, row.spearman) for row in result.ablation], ("k", "Spearman"))]
    return "\n".join(lines)

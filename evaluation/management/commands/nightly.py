from typing import Any

from evaluation.benchmarks import runs
from labeling.management.contract import ContractCommand, Result, table


class Command(ContractCommand):
    help = "Settle, freeze and score what changed: the round of every night, for cron."

    def action(self, **options: Any) -> Result:
        with self.progress(0, "step", "nightly") as bar:
            return dict(runs.nightly(progress=bar))

    def show(self, result: Result) -> str:
        return table(
            [
                ("questions settled", result["settled"]),
                ("releases frozen", result["releases"]),
                ("benchmarks scored", result["runs"]),
            ]
        )

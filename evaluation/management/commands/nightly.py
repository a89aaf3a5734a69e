from evaluation.benchmarks import runs
from labeling.management.contract import ContractCommand, Result


class Command(ContractCommand):
    help = "Settle, freeze and score what changed: the round of every night, for cron."

    def action(self) -> Result:
        with self.progress(0, "step", "nightly") as bar:
            return dict(runs.nightly(progress=bar))

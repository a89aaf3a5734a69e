from annotator.demo import build
from labeling.management.contract import ContractCommand, Result


class Command(ContractCommand):
    help = "Loads the demonstration: photographs, a competition, people. Twice is safe."

    def action(self) -> Result:
        benchmark = build.load()
        questions = benchmark.campaign.questions.for_consensus().count()
        return {
            "benchmark": benchmark.name,
            "questions": questions,
            "accounts": str(build.accounts_file()),
        }

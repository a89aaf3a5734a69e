from typing import Any

from annotator import demonstration
from labeling.management.contract import ContractCommand, Result


class Command(ContractCommand):
    help = "Loads the demonstration: photographs, a competition, people. Twice is safe."

    def deed(self, **options: Any) -> Result:
        benchmark = demonstration.load()
        questions = benchmark.campaign.questions.asked().count()
        return {
            "benchmark": benchmark.name,
            "questions": questions,
            "accounts": str(demonstration.accounts_file()),
        }

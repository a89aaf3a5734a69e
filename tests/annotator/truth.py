"""What the demonstration's photographs show, and a person who answers by it."""

import uuid
from collections.abc import Callable

from annotator.demo import graph
from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.models import Campaign, Gold, Question, User

# What is to be seen on the photographs, of all that the four classifiers say.
SEEN = {(row["image"], row["wnid"]) for row in graph.read_rows("seen.csv")}


def truth(question: Question) -> str:
    """What a careful person answers."""
    image = question.item.image.name
    if image == "horse.png":
        return "not_photo"
    if known := Gold.objects.filter(question=question).first():
        return str(known.answer)
    return "yes" if (image, question.topic) in SEEN else "no"


def answer_everything(user: User, campaign: Campaign, run_jobs: Callable[[], int]) -> int:
    """How many answers this person gave, to everything that is asked of them, truthfully."""
    answered = 0
    while seats := claiming.next_page(user, campaign).seats:
        sent = []
        for seat in seats:
            question = Question.objects.select_related("item__image").get(pk=seat.question_id)
            sent.append(submitting.SubmittedAnswer(uuid.uuid4(), seat.token, truth(question), 1500))
        results = submitting.submit(user, campaign, sent)
        assert {result.status for result in results} == {"accepted"}
        answered += len(results)
        run_jobs()
    return answered

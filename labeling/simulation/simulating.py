"""Simulates the cost and error of a policy on a crowd.

The crowd answers in rounds of a page each. After every round questions settle, gold is graded and
the policy's signals act, by the functions of real campaigns: the same sequential test, Dawid–Skene
and posterior. Pure; the seed determines everything.
"""

from collections import Counter
from typing import Any

import numpy as np

from labeling.estimators import annotator_checks
from labeling.estimators.aggregation import posterior, vote_counts
from labeling.estimators.agreement import agreement_beyond_chance
from labeling.estimators.dawid_skene import dawid_skene
from labeling.estimators.intervals import clopper_pearson, wilson_interval
from labeling.estimators.stated_error import ErrorModel, VotePrefixes, fit_prefixes, settled_margins
from labeling.kinds import policies
from labeling.kinds.votes import votes_needed
from labeling.simulation.crowd import HONEST, Crowd, Flags, Floats, Ints, ask, gather

# A safeguard: a crowd that cannot finish, because everybody is blocked, stops long before.
MAX_ROUNDS = 100_000
# Rounds in a row without a vote, after which reviewers take the remaining questions.
PATIENCE = 3
# Number of latest answers that determine how common each answer is.
POOL = 2_000
# Pseudo-counts that a calibration adds to each person: two right answers and one wrong one.
RIGHT, WRONG = 2.0, 1.0


def simulate(policy: policies.WholePolicy, crowd: Crowd, seed: int = 0) -> dict[str, Any]:
    """Return the result of the campaign, as printed by `simulate campaign`.

    policy: a complete one (policies.clean). error: share of all questions with a wrong label. A
    question left to a reviewer gets an auditor's answer; one kept undecided does not count as
    wrong. Under a measured target, `audited` random questions have known answers from the start.
    answers_per_question counts votes, gold, training, tests, audits and reviewers' verdicts.
    stated_error is the audit's estimate with its exact 95 % interval (Clopper and Pearson); null
    without an audit.
    """
    run = _Run(policy, crowd, np.random.default_rng(seed))
    run.train_and_test()
    for _ in range(MAX_ROUNDS):
        if not run.round():
            break
    return run.result()


class _Run:
    """The state of a campaign: questions (Q,), people (P,), and the answers so far."""

    def __init__(
        self, policy: policies.WholePolicy, crowd: Crowd, chance: np.random.Generator
    ) -> None:
        self.policy, self.crowd, self.chance = policy, crowd, chance
        self.people = gather(crowd, chance)
        self.adaptive = policy["method"] != "majority"
        count = crowd.people
        self.active = np.ones(count, bool)
        self.void = np.zeros(count, bool)
        self.answered = np.zeros(count, np.int64)
        self.test = annotator_checks.SequentialTest.of(policy)
        self.rights: list[list[bool]] = [[] for _ in range(count)]
        self.tested = [annotator_checks.GoldTestResult()] * count
        # Votes: who, question, answer, in the order they came.
        self.annotators = np.empty(0, np.int64)
        self.question = np.empty(0, np.int64)
        self.answer = np.empty(0, np.int64)
        self.classes = crowd.classes
        # Gold: who, truth, answer.
        self.gold = np.empty((0, 3), np.int64)
        self.calibrated = 0
        self.model: ErrorModel | None = None
        self.is_measured = (
            self.adaptive
            and policy["target_error"] is not None
            and policy["target_rule"] == "measured"
        )
        assumed, yes = policy["assumed_accuracy"], policy["prior_yes"]
        self.confusions = np.full((count, self.classes, self.classes), 1 - assumed)
        self.confusions /= self.classes - 1
        self.confusions[:, np.arange(self.classes), np.arange(self.classes)] = assumed
        even = np.full(self.classes, 1 / self.classes)
        self.prior = np.array([1 - yes, yes]) if self.classes == 2 else even
        self.introductions = 0
        self.reviewed = 0
        self.stuck = 0
        self._ask()

    def _ask(self) -> None:
        crowd, policy = self.crowd, self.policy
        self.questions = ask(crowd, crowd.questions, self.chance)
        self.first_votes = policies.first_votes(policy)
        self.free = np.full(crowd.questions, self.first_votes)
        self.settled = np.zeros(crowd.questions, bool)
        self.label = np.full(crowd.questions, -1)
        self.known = np.zeros(crowd.questions, bool)
        if self.is_measured:
            self.known[self._sample()] = True

    def train_and_test(self) -> None:
        """Run the training, then the test; remove people who fail every attempt."""
        policy = self.policy
        everyone = np.arange(self.crowd.people)
        self.introductions += policy["training_questions"] * len(everyone)
        questions = policy["test_questions"]
        if not questions:
            return
        waiting = everyone
        for _ in range(policy["test_attempts"]):
            self.introductions += questions * len(waiting)
            right = self.chance.binomial(questions, self.people.mean_accuracy[waiting])
            waiting = waiting[right < policy["test_pass"] * questions]
        self.active[waiting] = False

    def round(self) -> bool:
        """Give a page to everybody who works; return False if there was nothing to do."""
        workers = np.flatnonzero(self.active)
        if not len(workers) or not (self.free > 0).any():
            return False
        golden = self._give_gold(workers)
        taken = self._give_votes(workers, self.policy["page_size"] - golden)
        # The remaining people have seen all remaining questions: reviewers take those.
        self.stuck = 0 if taken else self.stuck + 1
        if self.stuck > PATIENCE:
            return False
        if self.adaptive:
            self._weigh()
        self._watch()
        self._settle()
        return True

    def _give_gold(self, workers: Ints) -> Ints:
        """Give gold on this page and return the number for each person."""
        gold_counts = self.chance.binomial(
            self.policy["page_size"], [self._gold_share(person) for person in workers]
        )
        annotators = np.repeat(workers, gold_counts)
        # Real campaigns also balance gold between answers.
        gold = ask(self.crowd, len(annotators), self.chance, balanced=True)
        replies = self.people.answers(
            annotators, gold, self.answered[annotators], np.full(len(annotators), -1), self.chance
        )
        self.gold = np.concatenate([self.gold, np.column_stack([annotators, gold.truth, replies])])
        for person, right in zip(
            annotators.tolist(), (gold.truth == replies).tolist(), strict=True
        ):
            self.rights[person].append(right)
        for person in np.unique(annotators):
            self.tested[person] = annotator_checks.fold(self.test, self.rights[person])
        return gold_counts

    def _gold_share(self, person: int) -> float:
        share = annotator_checks.gold_share(self.tested[person].accepted, self.policy)
        return self.policy["gold_share"] if share is None else share

    def _give_votes(self, workers: Ints, room: Ints) -> int:
        """Fill seats at random, each question by different people; return their number."""
        open_questions = np.flatnonzero(self.free > 0)
        seats = self.chance.permutation(np.repeat(open_questions, self.free[open_questions]))
        slots = self.chance.permutation(np.repeat(workers, room))
        size = min(len(seats), len(slots))
        annotators, question = slots[:size], seats[:size]
        unseen = self._unseen(annotators, question)
        annotators, question = annotators[unseen], question[unseen]
        replies = self.people.answers(
            annotators,
            self.questions[question],
            self.answered[annotators],
            self._latest(question),
            self.chance,
        )
        self.annotators = np.concatenate([self.annotators, annotators])
        self.question = np.concatenate([self.question, question])
        self.answer = np.concatenate([self.answer, replies])
        np.subtract.at(self.free, question, 1)
        np.add.at(self.answered, annotators, 1)
        return len(annotators)

    def _unseen(self, annotators: Ints, question: Ints) -> Flags:
        """Return which of these pairs are new, each at most once."""
        keys = annotators * self.crowd.questions + question
        _, first = np.unique(keys, return_index=True)
        fresh = np.zeros(len(keys), bool)
        fresh[first] = True
        return fresh & ~np.isin(keys, self.annotators * self.crowd.questions + self.question)

    def _latest(self, question: Ints) -> Ints:
        latest = np.full(self.crowd.questions, -1)
        latest[self.question] = self.answer
        return latest[question]

    def _weigh(self) -> None:
        """Compute every question's posterior, after a calibration if enough answers came in."""
        due = self.policy["calibrate_answers"]
        if self.is_measured:
            # A small crowd calibrates every night.
            due = min(due, self.crowd.questions)
        if len(self.annotators) - self.calibrated >= due:
            self._calibrate()
            self._measure()
        self.posterior = self._posterior(~self.void[self.annotators])

    def _posterior(self, counted: Flags) -> Floats:
        return posterior(
            self.annotators[counted],
            self.question[counted],
            self.answer[counted],
            n_items=self.crowd.questions,
            confusions=self.confusions,
            prior=self.prior,
        )

    def _measure(self) -> None:
        """Fit the error model on the known questions, which no calibration used as known."""
        if not self.is_measured:
            return
        counted = ~self.void[self.annotators] & self.known[self.question]
        at = np.flatnonzero(counted)
        at = at[np.argsort(self.question[at], kind="stable")]
        questions = self.question[at]
        rank = np.zeros(len(self.annotators), np.int64)
        rank[at] = np.arange(len(at)) - np.searchsorted(questions, questions) + 1
        rows = []
        for size in range(self.first_votes, int(rank.max(initial=0)) + 1):
            reached = self.question[rank == size]
            shares = self._posterior((rank > 0) & (rank <= size))[reached]
            sizes = np.full(len(reached), size)
            margins = settled_margins(shares.max(axis=1), sizes, by_majority=False)
            wrong = shares.argmax(axis=1) != self.questions.truth[reached]
            rows.append((margins, sizes, wrong, reached))
        if rows:
            columns = (np.concatenate(column) for column in zip(*rows, strict=True))
            self.model = fit_prefixes(VotePrefixes(*columns))

    def _calibrate(self) -> None:
        """Estimate confusion matrices and the share of yes from all counted answers and gold."""
        self.calibrated = len(self.annotators)
        counted = ~self.void[self.annotators]
        questions = self.crowd.questions
        # Gold is added as one extra item for each class.
        known = np.full(questions + self.classes, -1)
        known[questions:] = np.arange(self.classes)
        confusion_prior = np.full((self.classes, self.classes), WRONG / (self.classes - 1))
        np.fill_diagonal(confusion_prior, RIGHT)
        estimate = dawid_skene(
            np.concatenate([self.annotators[counted], self.gold[:, 0]]),
            np.concatenate([self.question[counted], questions + self.gold[:, 1]]),
            np.concatenate([self.answer[counted], self.gold[:, 2]]),
            n_annotators=self.crowd.people,
            n_items=questions + self.classes,
            n_classes=self.classes,
            class_prior=1.0,
            confusion_prior=confusion_prior,
            known=known,
            known_in_prior=False,
            tolerance=1e-3,
        )
        self.confusions, self.prior = estimate.confusions, estimate.priors

    def _watch(self) -> None:
        policy = self.policy
        rejected = np.array([tested.verdict == annotator_checks.REJECTED for tested in self.tested])
        self._act(np.flatnonzero(self.active & rejected), policy["gold_action"])
        enough = self.active & (self.answered >= policy["signal_answers"])
        if policy["speed_action"] != "none":
            median_seconds = float(np.median(self.people.seconds))
            self._act(
                np.flatnonzero(
                    enough & (self.people.seconds < policy["speed_share"] * median_seconds)
                ),
                policy["speed_action"],
            )
        if policy["run_action"] != "none":
            self._act(np.flatnonzero(enough & self._long_runs()), policy["run_action"])
        if policy["chance_action"] != "none":
            low = self._agreement() < policy["chance_agreement"]
            self._act(np.flatnonzero(enough & low), policy["chance_action"])

    def _agreement(self) -> Floats:
        """Return (P,) agreement beyond chance, the upper end of its interval; NaN if unknown.

        The same as annotator_checks.agreement, for all people at once.
        """
        agreement = agreement_beyond_chance(
            self.annotators,
            self.question,
            self.answer,
            n_annotators=self.crowd.people,
            n_items=self.crowd.questions,
            n_classes=self.classes,
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            chance = (agreement.share - agreement.kappa) / (1 - agreement.kappa)
            agreed = np.nan_to_num(agreement.share * agreement.n).round().astype(int)
            judged = zip(agreed.tolist(), agreement.n.tolist(), strict=True)
            upper = np.array([wilson_interval(right, n)[1] for right, n in judged])
            return np.asarray((upper - chance) / (1 - chance))

    def _long_runs(self) -> Flags:
        """Return (P,) whether the longest run of one answer is too long for chance."""
        order = np.argsort(self.annotators, kind="stable")
        bounds = np.searchsorted(self.annotators[order], np.arange(self.crowd.people + 1))
        pool = [("", str(word)) for word in self.answer[-POOL:]]
        long = np.zeros(self.crowd.people, bool)
        for person in np.flatnonzero(self.active):
            answers = self.answer[order[bounds[person] : bounds[person + 1]]]
            longest = annotator_checks.runs(
                [annotator_checks.TimedAnswer("", str(word)) for word in answers], pool
            )
            long[person] = longest["length"] >= self.policy["run_length"] and (
                longest["odds"] is not None and longest["odds"] < annotator_checks.RUN_ODDS
            )
        return long

    def _act(self, annotators: Ints, action: str) -> None:
        if not len(annotators) or action == "none":
            return
        if action == "train":
            self.introductions += self.policy["training_questions"] * len(annotators)
            return
        self.active[annotators] = False
        if action == "block":
            self.void[annotators] = True
            self._replay(np.unique(self.question[np.isin(self.annotators, annotators)]))

    def _replay(self, questions: Ints) -> None:
        """Reopen the questions that a blocked person answered, for _settle."""
        self.settled[questions] = False
        self.label[questions] = -1
        if self.adaptive:
            self._weigh()

    def _settle(self) -> None:
        counted = ~self.void[self.annotators]
        counts = vote_counts(
            self.question[counted], self.answer[counted], self.crowd.questions, self.classes
        )
        votes = counts.sum(axis=1)
        waiting = ~self.settled & (self.free == 0)
        if self.adaptive:
            label = self.posterior.argmax(axis=1)
            sure = self._sure(votes)
            votes_needed = np.maximum(1, self.first_votes - votes)
        else:
            label = counts.argmax(axis=1)
            votes_needed = self._missing_votes(counts)
            sure = votes_needed == 0
        # Known questions get all their votes, to measure the error by.
        enough = (votes >= self.first_votes) & (~self.known | (votes >= self.policy["max_votes"]))
        done = waiting & enough & sure
        self._decide(done, label)
        spent = waiting & enough & ~sure & (votes >= self.policy["max_votes"])
        self._review(spent)
        self.settled |= spent
        more = waiting & ~done & ~spent
        self.free[more] = votes_needed[more]

    def _sure(self, votes: Ints) -> Flags:
        """Return (Q,) whether the label may settle at the policy's target."""
        target, shares = self.policy["target_error"], self.posterior.max(axis=1)
        if target is None:
            return np.ones(len(votes), bool)
        if not self.is_measured:
            return np.asarray(1 - shares <= target)
        if self.model is None:
            return np.zeros(len(votes), bool)
        sizes = np.maximum(votes, 1)
        margins = settled_margins(shares, sizes, by_majority=False)
        return np.asarray(self.model.upper_error(margins, sizes) <= target)

    def _missing_votes(self, counts: Ints) -> Ints:
        """Return (Q,) the votes that each question still needs, at least one if it is tied."""
        rows, places = np.unique(counts, axis=0, return_inverse=True)
        wants = [
            votes_needed(Counter({str(label): n for label, n in enumerate(row)}), 0, self.policy)
            or int(row.count(max(row)) > 1)
            for row in rows.tolist()
        ]
        return np.array(wants)[places.reshape(-1)]

    def _decide(self, chosen: Flags, label: Ints) -> None:
        self.settled |= chosen
        self.label[chosen] = label[chosen]

    def _review(self, chosen: Flags) -> None:
        if self.policy["undecided"] == "keep":
            chosen = chosen & self.known
        self.reviewed += int(chosen.sum())
        self._decide(chosen, self._trusted(np.arange(self.crowd.questions)))

    def _trusted(self, questions: Ints) -> Ints:
        """Return a trusted person's answers to these questions."""
        right = self.chance.random(len(questions)) < self.crowd.auditor_accuracy
        truth = self.questions.truth[questions]
        return np.where(right, truth, (truth + 1) % self.classes)

    def result(self) -> dict[str, Any]:
        self._review(~self.settled)
        labeled = self.label >= 0
        wrong, audited = self._audit()
        counts = {
            "votes": len(self.annotators),
            "gold": len(self.gold),
            "training": int(self.introductions),
            "audits": audited + int(self.known.sum()),
            "reviews": self.reviewed,
        }
        answers = sum(counts.values())
        policy = self.policy
        honest = self.people.kind == HONEST
        return {
            "error": float((labeled & (self.label != self.questions.truth)).mean()),
            "answers_per_question": answers / self.crowd.questions,
            "cost": answers * policy["seconds_per_answer"] / 3600 * policy["cost_per_hour"],
            "blocked": {
                "rightly": int((self.void & ~honest).sum()),
                "wrongly": int((self.void & honest).sum()),
            },
            "stopped": {
                "rightly": int((~self.active & ~honest).sum()),
                "wrongly": int((~self.active & honest).sum()),
            },
            "stated_error": {
                "value": wrong / audited if audited else None,
                "interval": list(clopper_pearson(wrong, audited)) if audited else None,
                "basis": "audit" if audited else None,
            },
            "undecided": int((~labeled).sum()),
            "hard_images": self.crowd.hard_share,
            "answers": counts,
            "questions": self.crowd.questions,
            "currency": policy["currency"],
            "method": policy["method"],
        }

    def _audit(self) -> tuple[int, int]:
        """Return (wrong, audited) of a random sample answered by trusted people."""
        sample = self._sample(self.label >= 0)
        return int((self._trusted(sample) != self.label[sample]).sum()), len(sample)

    def _sample(self, among: Flags | bool = True) -> Ints:
        """Return `audited` random questions, or all if there are fewer, for trusted people."""
        rows = np.flatnonzero(np.full(self.crowd.questions, True) & among)
        size = min(self.crowd.audited, len(rows))
        return self.chance.choice(rows, size, replace=False)

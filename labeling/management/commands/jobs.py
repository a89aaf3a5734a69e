"""`jobs list|run|sweep|retry`: background work from the shell."""

from typing import Any

from django.core.management.base import CommandParser

from labeling import tasks
from labeling.errors import Conflict
from labeling.files import BadInput
from labeling.jobs import queue
from labeling.management.contract import ContractCommand, Result, table
from labeling.models import Job

# The latest so many.
MOST_LISTED = 50


class Command(ContractCommand):
    help = "Background work: what waits, what failed and why; run it here, or send it again."

    def add_arguments(self, parser: CommandParser) -> None:
        listing = self.verb(
            parser, "list", self.list, self.show_list, help="jobs that are not done, latest first"
        )
        listing.add_argument("--state", choices=Job.State.values, help="only of this state")
        self.verb(
            parser, "run", self.run, help="run every waiting job here, without broker or worker"
        )
        self.verb(parser, "sweep", self.sweep, help="send again what nobody works on (for cron)")
        again = self.verb(parser, "retry", self.retry, help="queue a failed job again")
        again.add_argument("job", type=int, metavar="JOB", help="its number in jobs list")

    def list(self, state: str | None, **_: Any) -> Result:
        jobs = Job.objects.order_by("-pk")
        jobs = jobs.filter(state=state) if state else jobs.exclude(state=Job.State.DONE)
        return {
            "jobs": [
                {
                    "id": job.pk,
                    "kind": job.kind,
                    "key": job.key,
                    "state": job.state,
                    "attempts": job.attempts,
                    "done": job.progress_done,
                    "total": job.progress_total,
                    "error": job.error,
                }
                for job in jobs[:MOST_LISTED]
            ]
        }

    def show_list(self, result: Result) -> str:
        if not result["jobs"]:
            return "No jobs wait, run or failed."
        head = ("id", "kind", "key", "state", "attempts", "done", "total", "error")
        return table([tuple(job[name] for name in head) for job in result["jobs"]], head)

    def run(self, **_: Any) -> Result:
        return {"ran": queue.run_all()}

    def sweep(self, **_: Any) -> Result:
        return tasks.sweep()

    def retry(self, job: int, **_: Any) -> Result:
        row = Job.objects.filter(pk=job).first()
        if row is None:
            raise BadInput(f"there is no job {job}", cure="jobs list shows those there are")
        # The shell speaks for whoever may log in to the machine: no person to name.
        try:
            queue.retry(row, None)
        except Conflict as refusal:
            raise BadInput(str(refusal)) from None
        return {"id": row.pk, "state": Job.State.QUEUED.value}

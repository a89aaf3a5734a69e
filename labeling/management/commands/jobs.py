"""`jobs list|run|sweep|retry`: manages background jobs."""

from dataclasses import dataclass

from labeling import tasks
from labeling.errors import Conflict
from labeling.files import BadInput
from labeling.jobs import queue
from labeling.management.contract import ContractCommand, Result, verb
from labeling.management.options import argument
from labeling.models import Job

# The number of latest jobs listed.
MAX_LISTED = 50


@dataclass(kw_only=True)
class RetryOptions:
    job: int = argument("id of the job in jobs list")


class Command(ContractCommand):
    help = "List background jobs with their failures, run them here, or send them again."

    @verb("list unfinished jobs, newest first")
    def list(self) -> Result:
        jobs = Job.objects.order_by("-pk").exclude(state=Job.State.DONE)
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
                for job in jobs[:MAX_LISTED]
            ]
        }

    @verb("run all queued jobs here, without broker or worker")
    def run(self) -> Result:
        return {"ran": queue.run_all()}

    @verb("resend stuck jobs (for cron)")
    def sweep(self) -> Result:
        return tasks.sweep()

    @verb("queue a failed job again")
    def retry(self, options: RetryOptions) -> Result:
        job = options.job
        row = Job.objects.filter(pk=job).first()
        if row is None:
            raise BadInput(f"there is no job {job}", cure="see jobs list")
        # Commands have no user.
        try:
            queue.retry(row, None)
        except Conflict as refusal:
            raise BadInput(str(refusal)) from None
        return {"id": row.pk, "state": Job.State.QUEUED.value}

"""The kinds of jobs: their names in the API, and their work."""

from __future__ import annotations

from kedge.web.jobs.job_runner import JobKind
from kedge.web.jobs.plan_job import make_plan
from kedge.web.jobs.prediction_job import predict_plan
from kedge.web.jobs.run_job import apply_plan, cancel_run, resume_run, roll_back_run

APPLY, RESUME, ROLLBACK, CANCEL = "apply", "resume", "rollback", "cancel"
RUN_KINDS = (APPLY, RESUME, ROLLBACK, CANCEL)

KINDS = {
    "plan": JobKind(make_plan),
    "predict": JobKind(predict_plan),
    APPLY: JobKind(apply_plan, computes=False),
    RESUME: JobKind(resume_run, computes=False),
    ROLLBACK: JobKind(roll_back_run, computes=False),
    CANCEL: JobKind(cancel_run, computes=False),
}

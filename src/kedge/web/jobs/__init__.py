"""Long work as resources: plans, predictions and runs, with progress that many can watch.

    job_store    the rows of jobs
    job_runner   threads that do the work, heartbeats, and jobs of servers that died
    job_context  what the work of a job is given: its request, and where progress goes
    plan_job, prediction_job, run_job     the work of each kind

A job's request is all that its work needs: a server that finds a job whose owner died starts the
same work again. Runs continue from their journal; a plan or a prediction is made anew.
"""

"""Waiting for what a page of AppTest has asked the engine for."""

import time

from streamlit.testing.v1 import AppTest

from pages.shared.engine import client


def let_jobs_end(app: AppTest, end: float) -> None:
    """Waits for the jobs that a page shows, so that it runs once after them.

    To run it again and again beside them would take the time that they need.

    Args:
        app: a page that has run; where it shows no job, this waits a moment only.
        end: on the clock of `time.monotonic`; waits no longer.
    """
    jobs = [
        app.session_state[button.key.removesuffix("_cancel")].job_id
        for button in app.button
        if (button.key or "").startswith("job_") and button.key.endswith("_cancel")
    ]
    time.sleep(0.02)
    engine = client()
    while not all(engine.job(job).is_finished for job in jobs):
        if time.monotonic() > end:
            return
        time.sleep(0.02)

"""Sends the events that were stored to the webhooks of the policy, oldest first.

An event is tried up to four times at each webhook, with pauses of 1, 2 and 4 seconds, unless the
answer refuses it for good; then it is given up with a note. What a server has not sent when it
stops is sent by the server that leads next. An event may arrive twice if a server stops or dies
between two webhooks. Addresses are secrets: no text of an error has more than their host.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx

from kedge.watch.messages import Event, message
from kedge.watch.policy import Webhook
from kedge.watch.policy_toml import masked_url
from kedge.watch_runtime.watch_store import WatchStore

TIMEOUT_S = 5.0
ATTEMPTS = 4
PAUSE_S = 1.0
RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})


class WebhookSender:
    """Delivers the events of one cluster."""

    def __init__(
        self,
        store: WatchStore,
        *,
        timeout_s: float = TIMEOUT_S,
        pause_s: float = PAUSE_S,
        sleep: Callable[[float], None] = time.sleep,
        stopping: Callable[[], bool] = lambda: False,
        on_note: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._store, self._timeout_s, self._pause_s = store, timeout_s, pause_s
        self._sleep, self._stopping, self._note = sleep, stopping, on_note

    def deliver(self, now: float) -> int:
        """Send what waits to be sent; returns how many events were delivered or given up."""
        webhooks = self._store.policy().webhooks
        settled = 0
        with httpx.Client(timeout=self._timeout_s, follow_redirects=False) as client:
            for number, event in self._store.events_to_deliver():
                if not all(self._send(client, webhook, event) for webhook in webhooks):
                    break
                self._store.delivered(number, now)
                settled += 1
        return settled

    def _send(self, client: httpx.Client, webhook: Webhook, event: Event) -> bool:
        """Send one event, with pauses that double; False if the server stops before its end."""
        body, why = message(event, webhook.form), ""
        for attempt in range(ATTEMPTS):
            if attempt:
                self._sleep(self._pause_s * 2 ** (attempt - 1))
            if self._stopping():
                return False
            try:
                answer = client.post(webhook.url, json=body)
            except (httpx.HTTPError, httpx.InvalidURL) as fault:
                why = type(fault).__name__  # its text may have the address
                continue
            if answer.is_success:
                return True
            why = f"status {answer.status_code}"
            if answer.status_code not in RETRIED:
                break
        self._note(f"{event.title}: not delivered to {masked_url(webhook.url)} ({why})")
        return True

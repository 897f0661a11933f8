"""Idempotency keys: a change that is sent again is answered again, and not made again."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from sqlalchemy import delete, update
from sqlalchemy.exc import IntegrityError

from kedge.database import Database
from kedge.errors import InvalidRequest, KeyReused
from kedge.web.tables import AnswerRow

KEY = re.compile(r"[\x21-\x7e]{8,200}")
KEPT_S = 24 * 3600.0
UNDER_WAY_S = 600.0  # a server that died in between has left no answer


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer that a change got."""

    status: int
    body: bytes


def fingerprint_of(method: str, path: str, body: bytes) -> str:
    """What makes two requests the same."""
    return hashlib.sha256(b"\0".join((method.encode(), path.encode(), body))).hexdigest()


class Answers:
    """The answers of a database, by account and key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, who: str, key: str, fingerprint: str) -> Answer | None:
        """Claim a key, or return the answer that it has.

        Raises:
            InvalidRequest: not a key.
            KeyReused: the key belongs to another request, or to one that is under way.
        """
        if KEY.fullmatch(key) is None:
            raise InvalidRequest(
                "Changes need an Idempotency-Key of 8 to 200 visible characters",
                hint="send a new UUID with each change, and the same one with its repetition",
            )
        now = self._database.clock()
        with self._database.begin() as session:
            session.execute(delete(AnswerRow).where(AnswerRow.at < now - KEPT_S))
            known = session.get(AnswerRow, (who, key))
            if known is not None:
                return _known_answer(known, fingerprint, now)
        row = AnswerRow(who=who, key=key, fingerprint=fingerprint, at=now)
        try:
            with self._database.begin() as session:
                session.add(row)
        except IntegrityError as error:
            raise KeyReused("A request with this key is under way") from error
        return None

    def finish(self, who: str, key: str, answer: Answer) -> None:
        """Keep the answer."""
        mine = update(AnswerRow).where(AnswerRow.who == who, AnswerRow.key == key)
        with self._database.begin() as session:
            session.execute(mine.values(status=answer.status, body=answer.body))

    def forget(self, who: str, key: str) -> None:
        """Give a key back: nothing was changed, and the same request may be sent again."""
        mine = delete(AnswerRow).where(AnswerRow.who == who, AnswerRow.key == key)
        with self._database.begin() as session:
            session.execute(mine)


def _known_answer(row: AnswerRow, fingerprint: str, now: float) -> Answer:
    if row.fingerprint != fingerprint:
        raise KeyReused(
            "The Idempotency-Key belongs to another request", hint="send a new one with each change"
        )
    if row.status is None or row.body is None:
        waiting = now - row.at < UNDER_WAY_S
        raise KeyReused(
            "A request with this key is under way"
            if waiting
            else "The server ended during this request; whether it was carried out is not known",
            hint="wait for it" if waiting else "look at the state, then send it with a new key",
        )
    return Answer(row.status, row.body)

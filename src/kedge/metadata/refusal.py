"""How a controller says no: Kafka's error code and Kafka's text, as a value or raised."""

from __future__ import annotations

from dataclasses import dataclass

from kedge.errors import InvalidRequest
from kedge.model.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class ApiError:
    """The outcome of a request or of one item of it. Texts are Kafka's: clients may show them."""

    code: ErrorCode = ErrorCode.NONE
    message: str | None = None

    @property
    def failed(self) -> bool:
        return self.code is not ErrorCode.NONE


SUCCESS = ApiError()


class Refused(InvalidRequest):
    """A request, or one item of it, is refused; nothing of it is written."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or code.name)
        self.error = ApiError(code, message)

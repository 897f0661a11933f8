"""SaslHandshake and SaslAuthenticate where nothing is to be authenticated (any more).

A port without SASL refuses both, as Kafka's do, and so does one whose client is known already:
sessions do not end by time, so no client is asked to authenticate again (KIP-368). The exchange
itself is in `authentication`, for it comes before every other request.
"""

from __future__ import annotations

from kedge.endpoint.call import Call
from kedge.model.error_codes import ErrorCode
from kedge.protocol.messages import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)


async def sasl_handshake(call: Call, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    """There is nothing to agree on."""
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=[])


async def sasl_authenticate(
    call: Call, request: SaslAuthenticateRequest
) -> SaslAuthenticateResponse:
    """There is nothing to prove."""
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate was not preceded by a handshake, or is not needed here",
        auth_bytes=b"",
        session_lifetime_ms=0,
    )

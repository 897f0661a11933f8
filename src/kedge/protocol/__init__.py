"""Kafka's wire format, for a server: decodes bytes to values and encodes values to bytes.

All input is either a request of a supported version or raises MalformedMessage; no other error
occurs, and no input costs more memory or time than a small multiple of its own length.

- A frame is four bytes of length and a payload (`framing`). A payload is a header and a body.
- Numbers are big-endian. Older versions have lengths of fixed size; flexible ones (KIP-482) have
  compact lengths, stored plus one in a variable-length number, and tagged fields after structs.
- The schemas and the value classes of client requests are those of kafka-python. It encodes them;
  `decoding` decodes them, because kafka-python's decoder does not check lengths.
- `APIS` is the one list of supported requests. ApiVersions answers from it, so a client never
  sends an unsupported one.
- Messages between controllers and brokers (`broker_apis`, `broker_messages`) have schemas in the
  form of `schema`, because no client library describes these messages.
- `error_mapping` is the one place where an error becomes a number.

Worked example: `kafka-topics --list` begins with ApiVersions, version 4, correlation 0.

    00 00 00 31                        49 bytes follow
    00 12  00 04  00 00 00 00          key 18, version 4, correlation 0
    00 0d 61 64 6d 69 6e …             client id, 13 letters, never compact
    00                                 no tagged fields in the header
    12 61 70 61 63 68 65 …             compact string of 17 letters: apache-kafka-java
    06 33 2e 39 2e 31                  compact string of 5 letters: 3.9.1
    00                                 no tagged fields in the body

    header = decode_header(reader := Reader(payload))
    request = decode_request(header, reader)
    frame = encode_response(header, ApiVersionsResponse(error_code=0, api_keys=[…]))
"""

from kedge.protocol.apis import (
    API_VERSIONS,
    APIS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    Api,
    RequestHeader,
    decode_header,
    decode_request,
    encode_response,
)
from kedge.protocol.decoding import decode
from kedge.protocol.error_mapping import CODES, code_of, message_of
from kedge.protocol.framing import FRAME_BYTES_MAX, PREFIX_BYTES, frame_length, framed
from kedge.protocol.reader import Reader

__all__ = [
    "APIS",
    "API_VERSIONS",
    "CODES",
    "FRAME_BYTES_MAX",
    "PREFIX_BYTES",
    "SASL_AUTHENTICATE",
    "SASL_HANDSHAKE",
    "Api",
    "Reader",
    "RequestHeader",
    "code_of",
    "decode",
    "decode_header",
    "decode_request",
    "encode_response",
    "frame_length",
    "framed",
    "message_of",
]

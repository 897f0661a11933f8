"""Files of HDFS and of object stores as a file system of Arrow, through delta-rs."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any


def remote_files(uri: str, options: Mapping[str, str] | None) -> Any:
    """The file system whose root is this URI."""
    fs: Any = import_module("pyarrow.fs")
    handler = _handler_class()
    return fs.PyFileSystem(handler(uri, None if options is None else dict(options)))


def _handler_class() -> Any:
    """The handler of delta-rs, whose output streams take any buffer and not only bytes."""
    pa: Any = import_module("pyarrow")
    base: Any = import_module("deltalake.fs").DeltaStorageHandler

    class Handler(base):
        def open_output_stream(self, path: str, metadata: Any = None) -> Any:
            """A stream to a new file; it is there once the stream is closed."""
            stream = self._handler.open_output_stream(path, metadata)
            return pa.PythonFile(_OutputStream(stream), mode="w")

    return Handler


class _OutputStream:
    """A stream of delta-rs that Arrow can write its buffers to."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.closed = False

    def write(self, data: Any) -> int:
        return self._stream.write(bytes(data))

    def tell(self) -> int:
        return self._stream.tell()

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._stream.close()

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

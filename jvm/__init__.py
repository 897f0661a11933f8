"""Real Kafka and ZooKeeper beside the project: finding their jars, starting and ending JVMs.

Used by tests and benchmarks only. The jars come from `pom.xml` by `make install`; every process
started here is ended by its own handle, never by name.
"""

from __future__ import annotations

import contextlib
import os
import queue
import random
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Generator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KAFKA_3_9 = "kafka-3.9.1"
KAFKA_4_1 = "kafka-4.1.0"
_MEMORY = Path("/dev/shm")
_CLIENT_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")

# a small heap, one collector thread and no second compiler: what many JVMs on two cores want
SMALL = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")


def classpath(release: str) -> str:
    """The class path of one release's jars."""
    jars = ROOT / ".cache" / "jars" / release
    if not any(jars.glob("*.jar")):
        raise FileNotFoundError(f"no jars for {release}: run `make install` first")
    return f"{jars}/*"


def memory_directory() -> str | None:
    """Where files cost no disk, for `tempfile`: a disk that others use too is late by more than
    controllers take. What a killed process has written is there all the same."""
    return str(_MEMORY) if os.access(_MEMORY, os.W_OK) else None


def free_port() -> int:
    """A port on 127.0.0.1 that was free a moment ago, and that no client is given by the system.

    A client that calls a server which is down, again and again, may be given the very port that it
    calls: it then talks to itself, and the server cannot come back.
    """
    lowest = int(_CLIENT_PORTS.read_text().split()[0]) if _CLIENT_PORTS.exists() else 32_768
    while True:
        port = random.SystemRandom().randrange(10_000, max(lowest, 11_000))
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class JavaProcess:
    """A running JVM whose output lines can be waited for."""

    def __init__(self, command: Sequence[str], cwd: Path) -> None:
        self._process = subprocess.Popen(
            command,
            cwd=cwd,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.seen: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def last_words(self) -> str:
        """What it has printed lately and nobody has waited for."""
        while True:
            with contextlib.suppress(queue.Empty):
                self.seen.append(self._lines.get_nowait() or "")
                continue
            return "\n".join(self.seen[-40:])

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def wait_for_line(self, start: str, *, timeout_s: float = 60.0) -> str:
        """The first coming line that begins so; fails with what was printed instead."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                line = None
            if line is None:
                raise TimeoutError(f"no line {start!r} from the JVM; last: {self.seen[-20:]}")
            self.seen.append(line)
            if line.startswith(start):
                return line

    def say(self, line: str) -> None:
        """Write one line to the process's standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End the process: politely, then not."""
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


@contextlib.contextmanager
def java(
    release: str,
    main: str,
    *args: str,
    cwd: Path,
    flags: Sequence[str] = SMALL,
    extra_classpath: str = "",
) -> Generator[JavaProcess]:
    """A JVM for the time of a `with` block. `main` is a class name or a `.java` source file."""
    program = shutil.which("java")
    if program is None:
        raise FileNotFoundError("no java on the PATH: install a JDK, 17 or later")
    path = ":".join(part for part in (extra_classpath, classpath(release)) if part)
    process = JavaProcess([program, *flags, "-cp", path, main, *args], cwd)
    try:
        yield process
    finally:
        process.stop()


def resolve(release: str) -> Path:
    """The jars of a release that only slow tests need; they are fetched the first time."""
    script = ROOT / "scripts" / "install-jars"
    done = subprocess.run([str(script), release], capture_output=True, text=True, check=False)
    if done.returncode:
        raise FileNotFoundError(f"{release} could not be resolved: {done.stderr[-500:]}")
    return ROOT / ".cache" / "jars" / release

"""Runs a fuzzer over seeds, each within its limits of time and memory."""

from __future__ import annotations

import argparse
import faulthandler
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager

from kedge.errors import KedgeError

Fuzz = Callable[[int], None]

CPU_S_MAX = 5.0  # of work: the machine may be busy with other things
WALL_S_MAX = 60.0  # of waiting: for a pipe without a writer, say
MEMORY_BYTES_MAX = 1 << 30  # beyond what the process has when it starts
PAGE_BYTES = resource.getpagesize()


class Fault(BaseException):
    """An input that took too long; not an Exception, so that the code under test lets it pass."""


@contextmanager
def only_refusals() -> Generator[None]:
    """The block may refuse its input, in one sentence, and do nothing else that is wrong."""
    try:
        yield
    except KedgeError as refusal:
        if not str(refusal).strip():
            raise AssertionError(f"{type(refusal).__name__} says nothing") from refusal


def main(fuzz: Fuzz, arguments: list[str] | None = None) -> int:
    """The command line of a fuzzer; 1 if there was a fault."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    faults = run(fuzz, range(asked.first_seed, asked.first_seed + asked.seeds))
    print(f"{asked.seeds} seeds, {faults} faults")
    return int(faults > 0)


def run(fuzz: Fuzz, seeds: range) -> int:
    """How many of the seeds end in a fault; each is printed with its traceback."""
    faults = 0
    faulthandler.enable()
    for each in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(each, _too_long)
    for number, seed in enumerate(seeds):
        found = attempt(fuzz, seed)
        if number == 0:
            _limit_memory()  # after the first one, which imports what is needed
        if found is not None:
            faults += 1
            print(f"seed {seed}: {found}", flush=True)
    return faults


def attempt(fuzz: Fuzz, seed: int) -> str | None:
    """What is wrong with one seed, if anything is."""
    try:
        signal.setitimer(signal.ITIMER_PROF, CPU_S_MAX)
        signal.setitimer(signal.ITIMER_REAL, WALL_S_MAX)
        fuzz(seed)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


def _too_long(number: int, _frame: object) -> None:
    limit = f"{CPU_S_MAX:g} s of work" if number == signal.SIGPROF else f"{WALL_S_MAX:g} s"
    raise Fault(f"not done after {limit}")


def _limit_memory() -> None:
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * PAGE_BYTES
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY_BYTES_MAX, hard))


def start(fuzz: Fuzz) -> None:
    """What a module does that is run by itself."""
    sys.exit(main(fuzz))

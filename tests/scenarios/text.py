"""Stories as text: prose, commands behind `>`, and below each what happened."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from tests.scenarios.player import play


@dataclass(frozen=True)
class Chapter:
    """Prose (possibly none), then one command."""

    prose: str
    command: str


def read_story(text: str) -> list[Chapter]:
    """The prose and the commands of a story; what happened is left out."""
    chapters: list[Chapter] = []
    prose: list[str] = []
    for line in text.splitlines():
        if line.startswith("> "):
            chapters.append(Chapter("\n".join(prose), line[2:]))
            prose = []
        elif line.startswith("# "):
            prose.append(line)
    return chapters


def told(chapters: list[Chapter]) -> str:
    """The story with what happens when it is played now."""
    pieces: list[str] = []
    for chapter, lines in zip(chapters, play([c.command for c in chapters]), strict=True):
        head = f"{chapter.prose}\n" if chapter.prose else ""
        pieces.append("\n".join([f"{head}> {chapter.command}", *lines]) + "\n")
    return "\n".join(pieces)


def rewrite() -> None:
    """Write every story anew."""
    for path in sorted(Path(__file__).parent.glob("*.txt")):
        path.write_text(told(read_story(path.read_text(encoding="utf-8"))), encoding="utf-8")
        print(f"rewrote {path.name}", file=sys.stderr)


if __name__ == "__main__":
    rewrite()

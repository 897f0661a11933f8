"""Pictures as SVG, in the colours of the page's style sheet, so that they follow light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10

WIDTH = 920
ROW = 22
LEFT, RIGHT = 150, 60
HALF, HALF_LEFT = 480, 84  # of pictures that stand beside each other


def svg(height: float, parts: Iterable[str], label: str, width: float = WIDTH) -> str:
    """A drawing, by default of the page's width; the label is what screen readers say."""
    box = f"0 0 {width:.0f} {height:.0f}"
    return f'<svg viewBox="{box}" role=img aria-label="{escape(label)}">{"".join(parts)}</svg>'


def text(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "") -> str:
    """Words at a place."""
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str, dash: str = "") -> str:
    """A straight line."""
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"{dashes}/>'


def rect(x: float, y: float, width: float, height: float, kind: str, title: str = "") -> str:
    """A bar; its title is shown under the pointer."""
    tip = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.8):.1f}" height="{height:.1f}" rx="2" '
        f'class="{kind}">{tip}</rect>'
    )


def dot(x: float, y: float, radius: float, kind: str, title: str = "") -> str:
    """A round mark."""
    tip = f"<title>{escape(title)}</title>" if title else ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" class="{kind}">{tip}</circle>'


def nice_ticks(most: float, count: int = 5) -> list[float]:
    """Round numbers from 0 up to at least the most."""
    if most <= 0:
        return [0.0, 1.0]
    raw = most / count
    power = 10.0 ** floor(log10(raw))
    step = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= raw * 0.999)
    ticks = [0.0]
    while ticks[-1] < most * 0.999:
        ticks.append(ticks[-1] + step)
    return ticks


# ---- dumbbells ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Dumbbell:
    """One row: a share before, after, and perhaps as reached."""

    name: str
    before: float
    after: float
    reached: float | None = None


def dumbbells(rows: Sequence[Dumbbell], label: str) -> str:
    """Shares of the mean before and after, a row each; the line at 1 is the mean."""
    values = [v for row in rows for v in (row.before, row.after, row.reached or 0.0)]
    ticks = nice_ticks(max([*values, 1.2]), 5)
    left, span = HALF_LEFT, HALF - HALF_LEFT - 24

    def x(value: float) -> float:
        return left + span * value / ticks[-1]

    top, height = 34.0, 34.0 + ROW * len(rows) + 26
    parts = [_legend(any(row.reached is not None for row in rows))]
    for tick in ticks:
        parts += [
            line(x(tick), top - 6, x(tick), height - 22, "grid"),
            text(x(tick), height - 6, f"{tick:g}×", anchor="middle", kind="soft"),
        ]
    parts.append(line(x(1.0), top - 6, x(1.0), height - 22, "axis", "3 3"))
    for place, row in enumerate(rows):
        y = top + ROW * (place + 0.5)
        parts += [
            text(left - 12, y + 4, row.name, anchor="end"),
            line(x(row.before), y, x(row.after), y, "link"),
            dot(x(row.before), y, 5, "hollow", f"{row.name} before: {row.before:.2f} × the mean"),
            dot(x(row.after), y, 5.5, "after", f"{row.name} after: {row.after:.2f} × the mean"),
        ]
        if row.reached is not None:
            parts.append(dot(x(row.reached), y, 2.6, "reached", f"reached: {row.reached:.2f}"))
    return svg(height, parts, label, HALF)


def _legend(reached: bool) -> str:
    left = HALF_LEFT
    parts = [
        dot(left + 6, 10, 5, "hollow"),
        text(left + 18, 14, "before"),
        dot(left + 86, 10, 5.5, "after"),
        text(left + 98, 14, "after"),
    ]
    if reached:
        parts += [dot(left + 156, 10, 3, "reached"), text(left + 166, 14, "as reached")]
    return "".join(parts)


# ---- curves -------------------------------------------------------------------------------------


def curve(
    moved: Sequence[float],
    above: Mapping[str, Sequence[float]],
    *,
    unit: str,
    knee: int | None,
    label: str,
) -> str:
    """Per cent above the best level over bytes moved, a line for each resource."""
    height, top, bottom = 300.0, 24.0, 44.0
    x_ticks = nice_ticks(max([*moved, 1e-9]))
    y_ticks = nice_ticks(max([v for line_ in above.values() for v in line_] or [1.0]))

    def x(value: float) -> float:
        return 64 + (WIDTH - 64 - 120) * value / x_ticks[-1]

    def y(value: float) -> float:
        return height - bottom - (height - top - bottom) * value / y_ticks[-1]

    parts: list[str] = []
    for tick in y_ticks:
        parts += [
            line(64, y(tick), WIDTH - 120, y(tick), "grid"),
            text(56, y(tick) + 4, f"{tick:g} %", anchor="end", kind="soft"),
        ]
    for tick in x_ticks:
        parts.append(text(x(tick), height - 26, f"{tick:g}", anchor="middle", kind="soft"))
    parts.append(text((WIDTH - 56) / 2, height - 6, f"{unit} moved", anchor="middle", kind="soft"))
    if knee is not None:
        parts += [
            line(x(moved[knee]), top - 8, x(moved[knee]), height - bottom, "axis", "3 3"),
            text(x(moved[knee]) + 6, top - 2, "after this, bytes buy least", kind="soft"),
        ]
    ends: list[float] = []
    for place, (name, values) in enumerate(above.items()):
        points = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(moved, values, strict=True))
        parts.append(f'<polyline points="{points}" class="line s{place % 6}"/>')
        parts += [
            dot(x(a), y(b), 3, f"s{place % 6}", f"{name}: {b:.1f} % after {a:.3g} {unit}")
            for a, b in zip(moved, values, strict=True)
        ]
        at = _apart(y(values[-1]), ends)
        ends.append(at)
        parts.append(dot(WIDTH - 104, at, 4, f"s{place % 6}"))
        parts.append(text(WIDTH - 94, at + 4, name))
    return svg(height, parts, label)


def _apart(wanted: float, taken: Sequence[float], distance: float = 16.0) -> float:
    """The next place above that is no nearer to the others than a line of text."""
    at = wanted
    while any(abs(at - each) < distance for each in taken):
        at -= 2.0
    return at


# ---- bars and moves -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bar:
    """One row: how much, of how much, and the words beside it."""

    name: str
    value: float
    whole: float
    words: str
    kind: str = "after"


def bars(rows: Sequence[Bar], label: str) -> str:
    """Horizontal bars on their tracks."""
    longest = max((row.whole for row in rows), default=1.0) or 1.0
    span = WIDTH - LEFT - 190
    parts: list[str] = []
    for place, row in enumerate(rows):
        y, shown = 6 + ROW * place, min(row.value, row.whole)
        parts += [
            text(LEFT - 14, y + 14, row.name, anchor="end"),
            rect(LEFT, y + 4, span * row.whole / longest, 13, "track"),
            rect(LEFT, y + 4, span * shown / longest, 13, row.kind, f"{row.name}: {row.words}"),
            text(LEFT + span + 12, y + 14, row.words, kind="soft"),
        ]
    return svg(14 + ROW * len(rows), parts, label)


@dataclass(frozen=True, slots=True)
class Span:
    """Something that lasts: on which row, from when to when, and what it is."""

    row: str
    start: float
    end: float
    title: str


def gantt(spans: Sequence[Span], rows: Sequence[str], ticks: dict[float, str], label: str) -> str:
    """What happens when, a row for each name; spans of a row that overlap lie above each other."""
    last = max([each.end for each in spans] + [*ticks, 1e-9])

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * value / last

    parts: list[str] = []
    y = 8.0
    for name in rows:
        lanes: list[float] = []
        own = sorted((e for e in spans if e.row == name), key=lambda e: (e.start, e.end))
        placed: list[tuple[int, Span]] = []
        for each in own:
            lane = next((n for n, end in enumerate(lanes) if end <= each.start + 1e-9), len(lanes))
            lanes[lane : lane + 1] = [each.end]
            placed.append((lane, each))
        height = max(len(lanes), 1) * 9.0 + 8
        parts.append(text(LEFT - 14, y + height / 2 + 2, name, anchor="end"))
        parts.append(rect(LEFT, y, WIDTH - LEFT - RIGHT, height - 3, "track"))
        parts += [
            rect(
                x(e.start) + 0.4,
                y + 3 + 9 * lane,
                x(e.end) - x(e.start) - 0.8,
                6.5,
                "after",
                e.title,
            )
            for lane, e in placed
        ]
        y += height
    for at, words in ticks.items():
        parts.append(line(x(at), 4, x(at), y, "grid"))
        parts.append(text(x(at), y + 16, words, anchor="middle", kind="soft"))
    return svg(y + 26, parts, label)

"""Thousands of odd texts, validated by Kedge and by the classes of Kafka 3.9.1."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from kedge.errors import InvalidConfiguration
from kedge.topics import V3_9, is_valid_name, validate_configs

HERE = Path(__file__).parent
JARS = HERE.parents[1] / ".cache" / "jars" / "kafka-3.9.1"

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not JARS.is_dir(), reason="the jars are not resolved: make jars"),
]

SEED = 20240391
BLANKS = ["", " ", "\t", "\n", "\v", "\x00", "\x1f", "\x85", "\xa0", "\u2003", "\ufeff"]
SIGNS = [*"019+-.,:eEpPxdfIV*_ ", "٣", "５", "ſ", *BLANKS]
TEXTS = [
    *("0", "1", "-1", "-2", "+5", "14", "22", "2147483647", "2147483648", "9223372036854775807"),
    *("9223372036854775808", "٣", "５", "𝟓", "1_0", "0" * 99, "1" * 99, "", "-", "1d", ".5f"),
    *("0x1p-3", "NaN", "-NaN", "nan", "Infinity", "1e400", "1e-400", "0.5", "1.0000000000000003"),
    *("true", "FALSE", "falſe", "yes", "delete", "compact,delete", "compact , compact", ",", "*"),
    *(",*,", "*,*", "0:1,,1:2", "0: 1", "gzip", "GZIP", "none", "producer", "CreateTime"),
    *("3.0", "3.0.1", "3.0.", "2.8-IV1", "2.8-IV9", "0.10", "0.10.0.1", "0.8.2", "4.0", "4.0-IV0"),
]


def odd(text: str, rng: random.Random) -> str:
    """The text with blanks around it, or with one sign put in."""
    at = rng.randrange(len(text) + 1)
    put_in = text[:at] + rng.choice(SIGNS) + text[at:]
    return rng.choice([text, put_in, rng.choice(BLANKS) + text + rng.choice(BLANKS)])


def ask_kafka(questions: list[list[str]]) -> list[bool]:
    """One JVM for all questions."""
    lines = ("\t".join(w.encode("utf-16-be").hex() for w in words) for words in questions)
    told = subprocess.run(
        ["java", "-Xmx256m", "-cp", f"{JARS}/*", str(HERE / "Judge.java")],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return [line == "yes" for line in told.stdout.splitlines()]


def is_legal(configs: dict[str, str]) -> bool:
    try:
        validate_configs(configs)
    except InvalidConfiguration:
        return False
    return True


def differences(questions: list[list[str]], ours: list[bool]) -> list[tuple[list[str], bool]]:
    kafkas = ask_kafka(questions)
    assert len(kafkas) == len(questions)
    assert {True, False} == set(kafkas)
    return [(q, k) for q, k, o in zip(questions, kafkas, ours, strict=True) if k != o]


def test_config_values_are_validated_as_by_kafka() -> None:
    rng = random.Random(SEED)
    questions = [[name, odd(text, rng)] for name in V3_9.keys for text in TEXTS * 3]
    ours = [is_legal({name: text}) for name, text in questions]
    assert differences(questions, ours) == []


def test_configs_together_are_validated_as_by_kafka() -> None:
    rng = random.Random(SEED + 1)
    lags = ["0", "1", "5", "-1", "9223372036854775807"]
    questions = [
        ["min.compaction.lag.ms", rng.choice(lags), "max.compaction.lag.ms", rng.choice(lags)]
        for _ in range(200)
    ]
    ours = [is_legal(dict(zip(q[::2], q[1::2], strict=True))) for q in questions]
    assert differences(questions, ours) == []


def test_names_are_validated_as_by_kafka() -> None:
    rng = random.Random(SEED + 2)
    names = ["".join(rng.choices("ab._-A9é\n /٣", k=rng.randrange(1, 5))) for _ in range(500)]
    names += [".", "..", "...", "a" * 249, "a" * 250, "é" * 250, "😀"]
    assert differences([[name] for name in names], [is_valid_name(name) for name in names]) == []

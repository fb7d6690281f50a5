"""A short, repeatable run of the fuzzing that `make fuzz` does at length: no traceback, no hang."""

import random
import signal
import zlib

import pytest

from tests.fuzzing.mutations import mutate
from tests.fuzzing.targets import TARGETS, check

INPUTS = 60
"""For each reader, besides its valid inputs."""
SLOW = 60
"""Seconds after which an input counts as a hang."""


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_makes_a_traceback(name: str) -> None:
    target = TARGETS[name]
    seeds = target.seeds()
    rng = random.Random(zlib.crc32(name.encode()))
    inputs = [*seeds, *(mutate(rng, rng.choice(seeds), seeds) for _ in range(INPUTS))]
    hung = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for data in inputs:
            signal.alarm(SLOW)
            check(target, data)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, hung)

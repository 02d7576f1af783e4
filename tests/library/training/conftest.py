"""A corpus of made-up reviews, and the folder of a tiny network that is trained on it."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from conftest import LLAMA
from homogenization.models.untrained import build_random_model

WORDS = [first + last for first in "bdfgklmnprst" for last in ("a", "ado", "en", "ilo", "ort", "um")]


def texts(number: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, size)) + "." for size in rng.integers(20, 40, number)]


@pytest.fixture(scope="session")
def reviews() -> tuple[pl.DataFrame, pl.DataFrame]:
    """A corpus of 40 reviews, and a sample of 10 of them."""
    clean = pl.DataFrame({"review_id": [f"{number:012x}" for number in range(40)], "text": texts(40)})
    return clean, clean[::4]


@pytest.fixture(scope="session")
def start(tmp_path_factory, reviews) -> Path:
    """An untrained Llama with its head."""
    folder = tmp_path_factory.mktemp("start")
    build_random_model(LLAMA, 0, reviews[0]["text"].to_list(), folder, head=True)
    return folder

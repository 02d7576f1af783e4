from collections.abc import Iterator

import pytest

from fake_cuda import FakeCuda


@pytest.fixture
def cuda() -> Iterator[FakeCuda]:
    """A CUDA device without a GPU."""
    with FakeCuda() as fake:
        yield fake

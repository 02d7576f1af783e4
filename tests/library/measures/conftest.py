import pytest
import torch
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """One thread for numerical libraries, as in a job; matrices as small as these gain nothing from more."""
    torch.set_num_threads(1)
    with threadpool_limits(1):
        yield

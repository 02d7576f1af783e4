import pytest
import torch
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """One thread for numerical libraries, as in a job: on busy cores, threads that wait for each other take minutes."""
    torch.set_num_threads(1)
    with threadpool_limits(1):
        yield

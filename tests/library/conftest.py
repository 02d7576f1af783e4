import shutil
import subprocess

import pytest
import torch
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """One thread for numerical libraries, as in a job: on busy cores, threads that wait for each other take minutes."""
    torch.set_num_threads(1)
    with threadpool_limits(1):
        yield


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB, mounted for the test."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True
    )
    if not mounted or mounted.returncode != 0:
        pytest.skip("mounting a file system needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)

import shutil

import pytest

from homogenization.models.untrained import build_random_model
from tiny_folders import LLAMA, TEXTS


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A model that the workflow has built, which no test edits."""
    folder = tmp_path_factory.mktemp("built")
    build_random_model(LLAMA, 0, TEXTS, folder)
    return folder


@pytest.fixture
def folder(built, tmp_path):
    """A copy, which a test may edit."""
    return shutil.copytree(built, tmp_path / "model")

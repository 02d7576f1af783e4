import pytest


@pytest.fixture(autouse=True)
def _in_project(in_project) -> None:
    """Configurations name files from the folder of the repository."""

"""What statistics answer to: an edit reruns a table where the table needs the edited code, and nowhere else."""

import shutil
from pathlib import Path

import pytest

from homogenization.run.code_hash import LIBRARY, code_hash
from library.statistics.shared import SCRIPT


def hash_after(edited: str, module: str, folder: Path) -> str:
    """The hash of a table's code in a copy of the library in which a module has one more statement."""
    library = shutil.copytree(LIBRARY, folder / LIBRARY.name)
    with (library / edited).open("a") as file:
        file.write("\nEDITED = True\n")
    return code_hash(SCRIPT, module, library=library)


@pytest.mark.parametrize(
    ("module", "edited"),
    [
        ("statistics.contrasts", "statistics/correlation.py"),
        ("statistics.depth", "statistics/correlation.py"),
        ("statistics.first_token", "metrics/spectral.py"),
        ("statistics.first_token", "statistics/depth.py"),
        ("statistics.sensitivity", "statistics/resampling.py"),
        ("claims.judgement", "statistics/contrasts.py"),
        ("statistics.causes", "statistics/sensitivity.py"),
        ("statistics.causes", "measures/spectra.py"),
        ("claims.verdicts", "claims/evidence.py"),
    ],
)
def test_an_edit_of_what_is_not_needed_reruns_nothing(module, edited, tmp_path):
    assert hash_after(edited, module, tmp_path) == code_hash(SCRIPT, module)


@pytest.mark.parametrize(
    ("module", "edited"),
    [
        ("statistics.contrasts", "statistics/resampling.py"),
        ("statistics.contrasts", "statistics/estimates.py"),
        ("statistics.depth", "statistics/layers.py"),
        ("statistics.first_token", "statistics/correlation.py"),
        ("statistics.sensitivity", "statistics/causes.py"),
        ("claims.judgement", "claims/evidence.py"),
        ("claims.judgement", "names/numbers.py"),
    ],
)
def test_an_edit_of_what_is_needed_reruns_the_table(module, edited, tmp_path):
    assert hash_after(edited, module, tmp_path) != code_hash(SCRIPT, module)

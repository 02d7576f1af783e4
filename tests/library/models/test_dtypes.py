"""One home for the names of floating-point formats, light enough for every parse of the Snakefile."""

import subprocess
import sys
from typing import get_args

import torch

from conftest import ROOT
from homogenization.models.dtypes import BYTES, Dtype, torch_dtype


def test_each_name_is_torchs_and_takes_as_many_bytes():
    assert set(get_args(Dtype)) == set(BYTES)
    for name, size in BYTES.items():
        assert torch_dtype(name) == getattr(torch, name)
        assert torch_dtype(name).itemsize == size


def test_names_are_known_without_torch():
    code = "import sys, homogenization.models.dtypes, homogenization.names.points; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT / "workflow" / "lib", check=True)

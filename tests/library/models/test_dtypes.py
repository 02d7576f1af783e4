"""One home for the names of floating-point formats."""

from typing import get_args

import torch

from homogenization.models.dtypes import BYTES, Dtype, torch_dtype


def test_each_name_is_torchs_and_takes_as_many_bytes():
    assert set(get_args(Dtype)) == set(BYTES)
    for name, size in BYTES.items():
        assert torch_dtype(name) == getattr(torch, name)
        assert torch_dtype(name).itemsize == size

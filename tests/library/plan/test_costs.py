"""The plan, by hand: rows of models, what they add up to, and the text that is printed."""

import polars as pl
import pytest

from described import NETWORK
from homogenization.plan.costs import PLAN_SCHEMA, gpu_bytes, plan_row, plan_table, plan_text
from homogenization.run.errors import HomogenizationError

STATES = {"dtype": "auto", "layers": None, "record_attention": True, "keep": True, "sample_tokens": None}
ENTRY = {"name": "m", "dtype": "bfloat16", "device": "auto", "gpus": 2, "token_budget": 64}


def counts_of(*jobs):
    """Jobs as (variant, counted_as, lengths, lengths before truncation, reviews cut, reviews left out)."""
    names = ("variant", "counted_as", "lengths", "lengths_before_truncation", "n_cut", "n_left_out")
    return pl.DataFrame([dict(zip(names, job, strict=True)) | {"shard": "000"} for job in jobs])


COUNTS = counts_of(("original", "original", [100, 3], [150, 3], 1, 0), ("front", "front", [90, 2], [90, 2], 0, 1))


def test_a_row_by_hand():
    row = plan_row(ENTRY, NETWORK, COUNTS, STATES)
    counted = ("jobs", "gpus_per_job", "reviews", "reviews_cut", "reviews_left_out", "tokens", "tokens_cut_off")
    assert {name: row[name] for name in counted} == {
        "jobs": 2,
        "gpus_per_job": 2,
        "reviews": 4,
        "reviews_cut": 1,
        "reviews_left_out": 1,
        "tokens": 195,
        "tokens_cut_off": 50,
    }
    # five points of width 8 in bfloat16, three blocks' attention, 20 bytes a token, 16 a review
    assert row["bytes_written"] == row["bytes_on_disk"] == 195 * (5 * 8 * 1.5 + 3 * 4 + 20) + 4 * 16
    # below 128 tokens all pairs are computed
    pairs = 100**2 + 3**2 + 90**2 + 2**2
    assert row["petaflops"] * 1e15 == pytest.approx(2 * 7_000 * 195 + 4 * 8 * 3 * pairs)
    assert row["gpu_memory_gib"] * 2**30 == gpu_bytes(NETWORK, "bfloat16", 100, 100, "bfloat16", 4, True)
    assert row["estimated"] is False


def test_what_is_kept_and_what_is_written():
    def bytes_of(**states):
        row = plan_row(ENTRY, NETWORK, COUNTS, STATES | states)
        assert row["bytes_at_once"] == row["bytes_written"], "without a limit, all stores may wait for their measures"
        return row["bytes_written"], row["bytes_on_disk"]

    full, _ = bytes_of()
    sample = (10 + 3 + 10 + 2) * (5 * 8 * 1.5 + 3 * 4 + 20) + 4 * 16
    assert bytes_of(keep=False) == (full, 0)
    assert bytes_of(keep=False, sample_tokens=10) == (full + sample, sample)
    assert bytes_of(sample_tokens=10) == (full + sample, full + sample)
    assert bytes_of(dtype="float32")[1] - full == 195 * 5 * 8 * 2.5
    assert full - bytes_of(layers=[0, -1])[1] == 195 * 2 * 8 * 1.5
    assert full - bytes_of(record_attention=False)[1] == 195 * 12


def test_what_lies_there_at_once_keeps_within_the_limit_or_is_one_store():
    counts = counts_of(*((name, name, [40_000], [40_000], 0, 0) for name in ("original", "front", "end")))
    one = 40_000 * (5 * 8 * 1.5 + 3 * 4 + 20) + 16  # 3.7 MB

    def at_once(limit, **states):
        rows = [plan_row(ENTRY | {"name": name}, NETWORK, counts, STATES | states, limit) for name in "ab"]
        return [row["bytes_at_once"] for row in plan_table(rows, limit).iter_rows(named=True)]

    assert at_once(None, keep=False) == [3 * one, 3 * one, 6 * one]
    assert at_once(5, keep=False) == [5 * 10**6] * 3
    assert at_once(1, keep=False) == [one] * 3
    assert at_once(15, keep=False) == [3 * one, 3 * one, 15 * 10**6]
    assert at_once(5) == [3 * one, 3 * one, 6 * one], "what is kept does not wait"
    sample = 3 * (10 * (5 * 8 * 1.5 + 3 * 4 + 20) + 16)
    assert at_once(5, keep=False, sample_tokens=10) == [5 * 10**6 + sample] * 2 + [5 * 10**6 + 2 * sample]


def test_a_layer_that_a_model_lacks_is_refused_and_one_named_twice_counts_once():
    with pytest.raises(HomogenizationError, match=r"states\.layers: 4 is no layer of the model m"):
        plan_row(ENTRY, NETWORK, COUNTS, STATES | {"layers": [0, 4]})
    once, twice = (plan_row(ENTRY, NETWORK, COUNTS, STATES | {"layers": layers}) for layers in ([0, 3], [0, 3, -1]))
    assert once == twice


def test_the_total_adds_up_and_names_the_largest_gpu():
    guessed = counts_of(("paraphrase", "original", [7], [7], 0, 0))
    rows = [
        plan_row(ENTRY | {"name": "cpu", "device": "cpu", "gpus": 0}, NETWORK, guessed, STATES),
        plan_row(ENTRY | {"name": "small", "gpus": 1, "token_budget": 8}, NETWORK, COUNTS, STATES),
        plan_row(ENTRY | {"name": "large", "token_budget": 4096}, NETWORK, COUNTS, STATES),
    ]
    assert (rows[0]["gpus_per_job"], rows[0]["gpu_memory_gib"]) == (0, None)
    plan = plan_table(rows)
    assert plan.schema == PLAN_SCHEMA
    assert plan["model"].to_list() == ["cpu", "small", "large", "total"]
    total = plan.row(-1, named=True)
    assert total["tokens"] == 7 + 2 * 195
    assert total["petaflops"] == pytest.approx(sum(row["petaflops"] for row in rows))
    assert (total["gpus_per_job"], total["gpu_memory_gib"]) == (2, rows[2]["gpu_memory_gib"])
    assert total["estimated"]
    lines = plan_text(plan).splitlines()
    assert len({len(line) for line in lines[:-2]}) == 1
    assert lines[0].split()[:3] == ["parameters", "jobs", "reviews"]
    assert lines[1].split()[5:9] == ["0", "0", "7", "*"]
    assert lines[-2].startswith("* ")
    assert lines[-1].startswith("cut, left out: ")
    assert "*" not in plan_text(plan_table(rows[1:]))
    assert "cut, left out: " not in plan_text(plan_table(rows[:1]))

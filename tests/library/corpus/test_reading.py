import json

import datasets
import polars as pl
import pytest

from homogenization.corpus.cleaning import clean_reviews
from homogenization.corpus.reading import read_reviews
from homogenization.corpus.sampling import sample_reviews
from homogenization.run.errors import HomogenizationError

ROWS = [{"text": f"Review number {n} is fine.", "label": n % 2} for n in range(6)]


def write_jsonl(path, rows=ROWS):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "parquet"])
def test_local_files_of_each_kind_read_alike(tmp_path, ending):
    path = tmp_path / f"reviews.{ending}"
    if ending == "jsonl":
        write_jsonl(path)
    elif ending == "json":
        path.write_text(json.dumps(ROWS))
    elif ending == "csv":
        pl.DataFrame(ROWS).write_csv(path)
    else:
        pl.DataFrame(ROWS).write_parquet(path)
    reviews = read_reviews(str(path), "text", "label")
    assert reviews.schema == {"row": pl.Int64, "text": pl.String, "label": pl.String}
    assert reviews["text"].to_list() == [row["text"] for row in ROWS]
    assert reviews["label"].to_list() == ["0", "1"] * 3


@pytest.mark.parametrize(("split", "rows"), [("train[:4]", ROWS[:4]), ("train[50%:]", ROWS[3:])])
def test_a_part_of_a_local_file_is_read(tmp_path, split, rows):
    reviews = read_reviews(write_jsonl(tmp_path / "reviews.jsonl"), "text", "label", split=split)
    assert reviews["text"].to_list() == [row["text"] for row in rows]


@pytest.mark.parametrize("split", ["test", "train[:x]", "train[3", "train[9:]"])
def test_a_part_that_a_local_file_lacks_is_refused(tmp_path, split):
    path = write_jsonl(tmp_path / "reviews.jsonl")
    with pytest.raises(HomogenizationError, match=r"split 't.*' is no part of .*Allowed: train, or a part"):
        read_reviews(path, "text", "label", split=split)


def test_an_edited_file_is_read_anew(tmp_path):
    path = tmp_path / "reviews.jsonl"
    assert len(read_reviews(write_jsonl(path), "text", "label")) == 6
    assert len(read_reviews(write_jsonl(path, ROWS[:2]), "text", "label")) == 2


def test_class_labels_become_their_names_and_unlabelled_rows_go(tmp_path):
    features = datasets.Features(
        {"body": datasets.Value("string"), "stars": datasets.ClassLabel(names=["bad", "good"])}
    )
    rows = {"body": ["So so.", "Fine.", "No label."], "stars": [0, 1, -1]}
    datasets.Dataset.from_dict(rows, features=features).to_parquet(str(tmp_path / "r.parquet"))
    raw = read_reviews(str(tmp_path / "r.parquet"), "body", "stars")
    assert raw["label"].to_list() == ["bad", "good", None]
    assert sorted(clean_reviews(raw)["label"]) == ["bad", "good"]


def test_a_corpus_without_labels_has_empty_ones(tmp_path):
    raw = read_reviews(write_jsonl(tmp_path / "r.jsonl"), "text", None)
    assert raw["label"].to_list() == [""] * 6
    assert len(sample_reviews(clean_reviews(raw), seed=0, start=0, stop=6, balance=False)) == 6


def test_a_missing_column_names_those_that_exist(tmp_path):
    with pytest.raises(HomogenizationError, match=r"text_column 'txt'.*did you mean 'text'.*label, text"):
        read_reviews(write_jsonl(tmp_path / "r.jsonl"), "txt", "label")
    with pytest.raises(HomogenizationError, match=r"label_column 'stars'.*label, text"):
        read_reviews(write_jsonl(tmp_path / "r.jsonl"), "text", "stars")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.jsonl", "", "is empty"),
        ("header.csv", "text,label\n", "no data"),
        ("broken.json", "{not json", "could not be read as json"),
        ("broken.parquet", "PAR1 but no more", "could not be read as parquet"),
        ("numbers.csv", "text,label\n1,0\n2,1\n", "int values, not text"),
        ("reviews.docx", "x", "no known ending"),
    ],
)
def test_files_without_reviews_are_refused(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(HomogenizationError, match=words) as caught:
        read_reviews(str(tmp_path / name), "text", "label")
    assert name in str(caught.value)


def test_a_file_that_is_not_there_is_no_hub_id():
    with pytest.raises(HomogenizationError, match="does not exist"):
        read_reviews("no/such/reviews.parquet", "text", "label")

import json

import datasets
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homogenization.corpus.reading import clean_reviews, clean_text, read_reviews, review_id, sample_reviews
from homogenization.run.errors import HomogenizationError

ROWS = [{"text": f"Review number {n} is fine.", "label": n % 2} for n in range(6)]


def write_jsonl(path, rows=ROWS):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def corpus(n_per_label, labels=("neg", "pos"), n_words=100):
    names = [f"{label}{n}" for label in labels for n in range(n_per_label)]
    return pl.DataFrame(
        {
            "review_id": [review_id(name) for name in names],
            "text": names,
            "label": [name[:3] for name in names],
            "n_words": [n_words] * len(names),
        }
    )


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


def test_a_hub_data_set_is_asked_for_as_configured(monkeypatch):
    asked = {}

    def load(source, **options):
        asked.update(options, source=source)
        return datasets.Dataset.from_list(ROWS)

    monkeypatch.setattr(datasets, "load_dataset", load)
    read_reviews("stanfordnlp/imdb", "text", "label", subset="plain_text", revision="abc", split="test")
    assert asked == {"source": "stanfordnlp/imdb", "name": "plain_text", "revision": "abc", "split": "test"}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionError("Couldn't reach"), ["no network", "hf auth login", "HF_TOKEN", "local .csv"]),
        (datasets.exceptions.DatasetNotFoundError("is a gated dataset"), ["gated", "hf auth login", "local .csv"]),
        (ValueError('Unknown split "trian". Should be one of ["train"].'), ["Should be one of", "train"]),
    ],
)
def test_trouble_with_the_hub_says_what_was_asked_and_what_to_do(monkeypatch, error, words):
    def load(*arguments, **options):
        raise error

    monkeypatch.setattr(datasets, "load_dataset", load)
    with pytest.raises(HomogenizationError) as caught:
        read_reviews("stanfordnlp/imdb", "text", "label", revision="abc")
    assert all(word in str(caught.value) for word in ["stanfordnlp/imdb", "abc", *words])


def test_a_missing_column_names_those_that_exist(tmp_path):
    with pytest.raises(HomogenizationError, match=r"text_column 'txt'.*label, text.*mean 'text'"):
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


def test_a_corpus_of_nothing_but_marks_is_refused():
    raw = pl.DataFrame({"text": ["<br />", " ... ", None], "label": ["0", "1", "0"]})
    with pytest.raises(HomogenizationError, match="none of the 3 rows"):
        clean_reviews(raw)


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("Good.<br /><br />Bad.", "Good. Bad."),
        ("one<BR>two<br/>three", "one two three"),
        ("Tom &amp; Jerry &quot;live&quot;", 'Tom & Jerry "live"'),
        ("Tom &amp;amp; Jerry", "Tom & Jerry"),
        ("a &lt;br /&gt; b", "a b"),
        ("<i>Jaws</i> was <b class='x'>great</b>", "Jaws was great"),
        ("cafe\u0301", "caf\u00e9"),
        ("it\x92s fine \x96 really\x85", "it\u2019s fine \u2013 really\u2026"),
        ("zero\u200bwidth, soft\u00adhyphen\ufeff\x00", "zerowidth, softhyphen"),
        ("tabs\tand\u00a0more \n\n lines ", "tabs and more lines"),
        ("I <3 this, 2 < 3 > 1", "I <3 this, 2 < 3 > 1"),
    ],
)
def test_cleaning(dirty, clean):
    assert clean_text(dirty) == clean


@given(
    st.text() | st.lists(st.sampled_from(["&", "amp;", "lt;", "<br", " />", "<i>", "\x85", "e", "\u0301"])).map("".join)
)
def test_cleaning_twice_changes_nothing(text):
    once = clean_text(text)
    assert clean_text(once) == once
    assert once == " ".join(once.split())


def test_duplicates_count_once_after_cleaning_and_order_has_no_say():
    rows = pl.DataFrame(
        {"text": ["Good film.", "Good<br />film.", "Bad film.", "Good  film."], "label": ["b", "a", "b", "c"]}
    )
    clean = clean_reviews(rows)
    assert sorted(clean["text"]) == ["Bad film.", "Good film."]
    assert clean.filter(text="Good film.")["label"].item() == "a"
    assert clean["n_words"].to_list() == [2, 2]
    assert clean_reviews(rows.reverse()).equals(clean)


def test_the_sample_is_balanced_and_seeded():
    clean = corpus(50)
    first, again, other = (sample_reviews(clean, seed, 0, 40) for seed in (0, 0, 1))
    assert first.equals(again)
    assert set(first["review_id"]) != set(other["review_id"])
    assert first["label"].to_list() == ["neg", "pos"] * 20
    assert first["rank"].to_list() == list(range(40))
    assert first.columns == ["review_id", "text", "label", "rank"]


@settings(max_examples=30)
@given(st.integers(0, 5), st.integers(1, 20), st.integers(1, 15), st.randoms())
def test_shards_are_nested_and_know_no_row_order(seed, size, more, random):
    clean = corpus(20)
    shuffled = clean[random.sample(range(len(clean)), len(clean))]
    whole = sample_reviews(clean, seed, 0, size + more)
    assert sample_reviews(shuffled, seed, 0, size).equals(whole.head(size))
    assert sample_reviews(shuffled, seed, size, size + more).equals(whole.tail(more))


def test_length_bounds_hold():
    clean = pl.concat([corpus(5, n_words=10), corpus(5, n_words=100).with_columns(review_id="x" + pl.col("review_id"))])
    sample = sample_reviews(clean, 0, 0, 10, min_words=50, max_words=100)
    assert all(name.startswith("x") for name in sample["review_id"])


def test_a_label_that_runs_out_is_named_with_what_there_is():
    clean = pl.concat([corpus(3, ["neg"]), corpus(9, ["pos"])])
    said = r"'neg': 3 of 4 wanted, label 'pos': 9 of 4 wanted.*label_column: null"
    with pytest.raises(HomogenizationError, match=said):
        sample_reviews(clean, 0, 0, 8)
    assert len(sample_reviews(clean, 0, 0, 8, balance=False)) == 8


def test_too_few_reviews_of_the_length_are_counted():
    with pytest.raises(HomogenizationError, match=r"5 reviews are wanted, but only 0 of 200 to any number"):
        sample_reviews(corpus(5), 0, 0, 5, balance=False, min_words=200)
    with pytest.raises(HomogenizationError, match=r"'neg': 0 of 3 wanted, label 'pos': 0 of 2"):
        sample_reviews(corpus(5), 0, 0, 5, min_words=200)


def test_three_labels_take_turns():
    sample = sample_reviews(corpus(4, ["aaa", "bbb", "ccc"]), 0, 3, 9)
    assert sample["label"].to_list() == ["aaa", "bbb", "ccc"] * 2

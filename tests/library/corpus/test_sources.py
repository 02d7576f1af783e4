import pytest

from homogenization.corpus.sources import is_local


@pytest.mark.parametrize(
    "source", ["reviews.csv", "a/b/REVIEWS.JSONL", "./reviews", "../reviews", "/reviews", "~/reviews"]
)
def test_paths_are_local(source):
    assert is_local(source)


def test_what_exists_is_local(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not is_local("somebody/reviews")
    (tmp_path / "somebody").mkdir()
    (tmp_path / "somebody/reviews").write_text("")
    assert is_local("somebody/reviews")


@pytest.mark.parametrize("source", ["stanfordnlp/imdb", "imdb", "somebody/reviews.v2"])
def test_ids_on_the_hub_are_not(source):
    assert not is_local(source)

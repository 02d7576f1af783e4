import pytest

from homogenization.corpus.sources import is_local

PATHS = ["reviews.csv", "a/b/REVIEWS.JSONL", "./reviews", "../reviews", "/reviews", "~/reviews"]


@pytest.mark.parametrize("source", [*PATHS, "stanfordnlp/imdb", "imdb", "somebody/reviews.v2"])
def test_paths_are_local_and_ids_on_the_hub_are_not(source):
    assert is_local(source) == (source in PATHS)


def test_what_exists_is_local(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not is_local("somebody/reviews")
    (tmp_path / "somebody").mkdir()
    (tmp_path / "somebody/reviews").write_text("")
    assert is_local("somebody/reviews")

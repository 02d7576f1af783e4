"""Key phrases by a language model: what is asked, which answers count, and when it is asked again."""

import json

import polars as pl
import pytest

from homogenization.variants.llm_keyphrases import extract_keyphrases_with_llm
from homogenization.writers.asking import Author
from scripted import Scripted

PROMPT = {"version": 1, "system": "At most $max_phrases.", "user": "$review"}
TEXTS = {"b": "The slow zombie eats. We like the slow zombie.", "a": "A clever plot, and a clever cast."}
REVIEWS = pl.DataFrame({"review_id": list(TEXTS), "text": list(TEXTS.values())})


def extracted(folder, by_word, max_phrases=3, n_candidates=2):
    """The table, and the writer, which answers by the word that the review holds, one answer after the other."""

    def write(text, n_before):
        answers = next(answers for word, answers in by_word.items() if word in text)
        listed = answers[min(n_before, len(answers) - 1)]
        return listed if isinstance(listed, str) else json.dumps({"key_phrases": listed})

    writer = Scripted(write)
    return extract_keyphrases_with_llm(REVIEWS, Author(writer, PROMPT, 0, folder), max_phrases, n_candidates), writer


def test_places_and_scores_of_phrases_that_stand_there(tmp_path):
    # dropped: another form, no phrase by its edges, not there at all, too long, no words
    by_word = {"zombie": [["zombies", "Slow Zombie", "the slow", "eats", "like"]]}
    by_word["plot"] = [["", "masterpiece", "cast", "clever plot and a", "clever", "plot"]]
    table, writer = extracted(tmp_path, by_word, max_phrases=2)
    assert table.rows() == [
        ("b", "slow zombie", 1 / 2, 0, 4, 15),
        ("b", "eats", 1 / 3, 0, 16, 20),
        ("b", "slow zombie", 1 / 2, 1, 34, 45),
        ("a", "clever", 1 / 3, 0, 2, 8),
        ("a", "clever", 1 / 3, 0, 21, 27),
        ("a", "cast", 1 / 2, 0, 28, 32),
    ]
    assert writer.asked[0][0] == {"role": "system", "content": "At most 2."}
    assert len(writer.asked) == 2


@pytest.mark.parametrize("unusable", ["no JSON", '{"key_phrases": "zombie"}', '{"key_phrases": [1]}', ["masterpiece"]])
def test_an_unusable_answer_leads_to_the_next_and_none_to_no_phrases(tmp_path, unusable, caplog):
    table, writer = extracted(tmp_path, {"zombie": [unusable, ["zombie"]], "plot": [["plot"]]})
    assert set(table["phrase"]) == {"zombie", "plot"}
    assert len(writer.asked) == 3
    table, writer = extracted(tmp_path / "2", {"zombie": [unusable], "plot": [["plot"]]}, n_candidates=3)
    assert table["review_id"].unique().to_list() == ["a"]
    assert len(writer.asked) == 4
    assert "1 of 2 texts have no key phrase" in caplog.text

"""Key phrases by a language model: what is asked, which answers count, and when it is asked again."""

import json

import polars as pl
import pytest

from homogenization.variants.llm_keyphrases import extract_keyphrases_with_llm
from homogenization.variants.schemas import KEYPHRASE_SCHEMA
from homogenization.writers.asking import Author
from scripted import Scripted

PROMPT = {"version": 1, "system": "At most $max_phrases.", "user": "$review"}
REVIEWS = pl.DataFrame(
    {
        "review_id": ["b", "a"],
        "text": ["The slow zombie eats. We like the slow zombie.", "A clever plot, and a clever cast."],
    }
)


def extracted(folder, by_word, max_phrases=3, n_candidates=2):
    """The table, and the writer, which answers by the word that the review holds, one answer after the other."""

    def write(text, n_before):
        answers = next(answers for word, answers in by_word.items() if word in text)
        listed = answers[min(n_before, len(answers) - 1)]
        return listed if isinstance(listed, str) else json.dumps({"key_phrases": listed})

    writer = Scripted(write)
    author = Author(writer, PROMPT, 0, folder)
    return extract_keyphrases_with_llm(REVIEWS, author, max_phrases, (1, 3), n_candidates), writer


def test_places_and_scores_of_no_more_than_max_phrases(tmp_path):
    by_word = {"zombie": [["Slow Zombie", "eats", "like"]], "plot": [["cast", "clever", "plot"]]}
    table, writer = extracted(tmp_path, by_word, max_phrases=2)
    assert table.schema == KEYPHRASE_SCHEMA
    assert table.rows() == [
        ("b", "slow zombie", 1.0, 0, 4, 15),
        ("b", "eats", 0.5, 0, 16, 20),
        ("b", "slow zombie", 1.0, 1, 34, 45),
        ("a", "clever", 0.5, 0, 2, 8),
        ("a", "clever", 0.5, 0, 21, 27),
        ("a", "cast", 1.0, 0, 28, 32),
    ]
    assert writer.asked[0][0] == {"role": "system", "content": "At most 2."}


def test_phrases_that_do_not_stand_there_are_dropped(tmp_path):
    # another form, no phrase by its edges, across punctuation, not there at all, no words
    dropped = {
        "zombie": [["slow zombies", "the slow", "zombie"]],
        "plot": [["plot and", "masterpiece", "", "clever plot"]],
    }
    table, writer = extracted(tmp_path, dropped)
    assert set(table["phrase"]) == {"zombie", "clever plot"}
    assert len(writer.asked) == 2


@pytest.mark.parametrize("unusable", ["no JSON", "", '{"phrases": []}', '{"key_phrases": "zombie"}', ["masterpiece"]])
def test_an_unusable_answer_leads_to_the_next_and_none_to_no_phrases(tmp_path, unusable, caplog):
    table, writer = extracted(tmp_path, {"zombie": [unusable, ["zombie"]], "plot": [["plot"]]})
    assert set(table["phrase"]) == {"zombie", "plot"}
    assert len(writer.asked) == 3
    again, silent = extracted(tmp_path, {"zombie": [unusable, ["zombie"]], "plot": [["plot"]]})
    assert again.equals(table)
    assert silent.asked == []
    table, writer = extracted(tmp_path / "2", {"zombie": [unusable], "plot": [["plot"]]}, n_candidates=3)
    assert table["review_id"].unique().to_list() == ["a"]
    assert len(writer.asked) == 4
    assert "1 of 2 texts have no key phrase" in caplog.text

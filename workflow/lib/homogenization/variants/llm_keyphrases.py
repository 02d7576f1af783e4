"""Key phrases that a language model chooses: the rank in its list gives the score, a search the places."""

import polars as pl

from homogenization.variants.keyphrases import MOST_WORDS_OF_A_PHRASE, key_phrases, keyphrase_table, ranked
from homogenization.variants.phrases import is_content, term_of
from homogenization.writers.asking import Answer, Author
from homogenization.writers.prompts import render


def extract_keyphrases_with_llm(
    reviews: pl.DataFrame, author: Author, max_phrases: int, n_candidates: int
) -> pl.DataFrame:
    """Find the key phrases of each review.

    A phrase of the model is used where it stands in the review word for word. If an answer, which should be
    {"key_phrases": [text, …]}, holds no such phrase, the model gets another request.

    Args:
        reviews: Columns review_id, text.
        author: Language model that chooses the phrases; $review and $max_phrases of its prompt have values.
        max_phrases: Largest number of distinct phrases of a review.
        n_candidates: Largest number of requests for a review.

    Returns:
        A table like that of `extract_keyphrases`; score is 1 / (1 + rank), where the model's first phrase has rank 0. A
        review without a usable answer has no row.

    Raises:
        HomogenizationError: as `Author.ask`.
    """
    texts = dict(reviews.select("review_id", "text").iter_rows())
    chats = {name: render(author.prompt, review=text, max_phrases=max_phrases) for name, text in texts.items()}
    found = {name: [] for name in texts}
    for number in range(n_candidates):
        answers = author.ask({name: chats[name] for name, chosen in found.items() if not chosen}, number)
        for name, answer in answers.items():
            found[name] = key_phrases(texts[name], ranked(listed_terms(answer)), max_phrases)
    return keyphrase_table(found)


def listed_terms(answer: Answer) -> list[str]:
    """The phrases of an answer that may be key: not too long, and with a content word at each edge."""
    listed = answer.value("key_phrases")
    texts = listed if isinstance(listed, list) and all(isinstance(one, str) for one in listed) else []
    terms = [term for term in map(term_of, texts) if term]
    return [term for term in terms if len(term.split()) <= MOST_WORDS_OF_A_PHRASE and is_content(term)]

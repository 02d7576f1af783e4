"""Key phrases that a language model chooses: the rank in its list gives the score, a search the places."""

import polars as pl

from homogenization.variants.keyphrases import key_phrases, keyphrase_table, literal_terms, ranked
from homogenization.writers.asking import Author
from homogenization.writers.prompts import render


def extract_keyphrases_with_llm(
    reviews: pl.DataFrame,
    author: Author,
    max_phrases: int,
    ngram_range: tuple[int, int],
    n_candidates: int,
) -> pl.DataFrame:
    """Find the key phrases of each review.

    A phrase of the model is used where it stands in the review word for word. If an answer, which should be
    {"key_phrases": [text, …]}, holds no such phrase, the model gets another request.

    Args:
        reviews: Columns review_id, text.
        author: Language model that chooses the phrases; $review and $max_phrases of its prompt have values.
        max_phrases: Largest number of distinct phrases of a review.
        ngram_range: Smallest and largest number of words of a phrase.
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
            listed = literal_terms(answer.value("key_phrases"), ngram_range)
            found[name] = key_phrases(texts[name], ranked(listed), max_phrases)
    return keyphrase_table(found)

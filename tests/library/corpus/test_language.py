"""Texts in another language than English are told when they are cleaned."""

import csv
import json

import polars as pl
import pytest

from conftest import ROOT
from homogenization.corpus.cleaning import clean_reviews
from homogenization.corpus.language import LEAST_SHARE, stop_word_share
from pages import DOCS

OTHERS = {
    "German": "Ich habe diesen Film gestern Abend mit meiner Frau gesehen und war sehr enttäuscht. Die Handlung ist "
    "langweilig, die Schauspieler wirken müde, und am Ende fragt man sich, warum man zwei Stunden verschwendet hat.",
    "German recipe": "Die Butter mit dem Zucker schaumig rühren und die Eier einzeln dazugeben. Mehl und Backpulver "
    "mischen und unterheben. Den Teig in eine Form geben und bei 180 Grad etwa 45 Minuten backen.",
    "French": "Le réalisateur raconte la vie d'un vieux pêcheur de Bretagne. Sa fille revient après de longues années "
    "d'absence, et peu à peu les deux apprennent à se connaître de nouveau. Les images de la mer sont magnifiques.",
    "Spanish": "El director cuenta la historia de un viejo pescador de Galicia. Su hija vuelve después de muchos años "
    "y poco a poco los dos se conocen de nuevo. No hay un final feliz, pero no me importa.",
    "Dutch": "Ik heb deze film gisteravond met mijn vrouw gezien en was erg teleurgesteld. Het verhaal is saai, de "
    "acteurs zijn moe, en aan het einde vraag je je af waarom je twee uur van je leven hebt verspild.",
}
ENGLISH = [json.loads(line)["text"] for line in (ROOT / "config/reviews.jsonl").read_text("utf-8").splitlines()]


def recipes() -> list[str]:
    with open(DOCS / "recipes.csv", encoding="utf-8", newline="") as file:
        return [row["recipe"] for row in csv.DictReader(file)]


def warnings_of(texts, caplog) -> list[str]:
    caplog.clear()
    clean_reviews(pl.DataFrame({"text": texts, "label": [""] * len(texts)}))
    return [record.message for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.parametrize("texts", [ENGLISH, recipes()], ids=["reviews", "recipes"])
def test_english_texts_pass_without_a_word(texts, caplog):
    assert min(stop_word_share([text]) for text in texts) > LEAST_SHARE + 0.05
    assert warnings_of(texts, caplog) == []


@pytest.mark.parametrize("language", OTHERS)
def test_another_language_is_told(language, caplog):
    text = OTHERS[language]
    assert stop_word_share([text]) < LEAST_SHARE - 0.04
    (warning,) = warnings_of([text], caplog)
    assert warning.startswith("corpus: the texts do not seem to be English")
    assert "variants that move phrases by the parse, may be wrong; docs/corpus.md says what to exchange" in warning


def test_single_texts_in_another_language_are_counted(caplog):
    mixed = [*ENGLISH, OTHERS["German"], OTHERS["French"]]
    (warning,) = warnings_of(mixed, caplog)
    assert warning.startswith(f"corpus: 2 of {len(mixed)} texts do not seem to be English")


def test_a_few_words_are_not_judged(caplog):
    assert stop_word_share(["Guter Film."]) is None
    assert warnings_of(["Guter Film."], caplog) == []

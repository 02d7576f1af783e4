import csv
import json
import time
import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import ROOT
from homogenization.corpus.characters import composed, visible
from homogenization.corpus.cleaning import LEAST_SHARE, clean_reviews, clean_text, stop_word_share, word_counts
from homogenization.corpus.sentences import chunks, sentence_spans
from homogenization.run.errors import HomogenizationError
from homogenization.variants.atoms import atoms_of
from pages import DOCS


def test_a_corpus_of_nothing_but_marks_is_refused():
    raw = pl.DataFrame({"row": [0, 1, 2], "text": ["<br />", " ... ", None], "label": ["0", "1", "0"]})
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
        ("It\u201a\u00c4\u00f4s a caf\u221a\u00a9.", "It\u2019s a caf\u00e9."),  # UTF-8 as MacRoman
        ("\u00e2\u20ac\u0153Jos\u00c3\u00a9\u00e2\u20ac\x9d", "\u201cJos\u00e9\u201d"),  # UTF-8 as Windows-1252
        ("A M\u00e1quina \x96 O Combust\u00edvel", "A M\u00e1quina \u2013 O Combust\u00edvel"),
        ("zero\u200bwidth, soft\u00adhyphen\ufeff\x00", "zerowidth, softhyphen"),
        ("tabs\tand\u00a0more \n\n lines ", "tabs and more lines"),
        ("I <3 this, 2 < 3 > 1", "I <3 this, 2 < 3 > 1"),
    ],
)
def test_cleaning(dirty, clean):
    assert clean_text(dirty) == clean


@pytest.mark.parametrize("code_point", [0x1FA77, 0x1FAE8, 0x31350, 0x2EBF0, 0x1FAC6, 0x40000, 0x0378])
def test_a_character_that_a_table_of_unicode_lacks_stays(code_point):
    """Assigned by Unicode 15.0, 15.1 or 16, or not at all: each Python names the review alike."""
    assert clean_text(f"a pink {chr(code_point)}\u200b heart") == f"a pink {chr(code_point)} heart"


def test_only_what_is_never_seen_goes():
    """By the categories of Unicode, of what the interpreter's table assigns."""
    seen = ("L", "M", "N", "P", "S", "Zs", "Cn")
    for code_point in range(0x110000):
        character = chr(code_point)
        category = unicodedata.category(character)
        is_noncharacter = 0xFDD0 <= code_point <= 0xFDEF or code_point & 0xFFFE == 0xFFFE
        stays = category.startswith(seen) and not is_noncharacter
        # the format characters of hieroglyphs are newer than Python 3.11's table
        if stays != (visible(character) == character) and not character.isspace():
            assert 0x13439 <= code_point <= 0x1343F, hex(code_point)


def test_newer_marks_compose_with_nothing():
    """U+1E08F combines since Unicode 15; before, marks on both of its sides stayed where they were."""
    assert composed("e\U0001e08f\u0323\u0301") == "e\U0001e08f\u0323\u0301"
    assert composed("e\u0301\u0323\U0001e08f") == "\u1eb9\u0301\U0001e08f"


def test_texts_without_newer_marks_compose_as_in_unicode():
    for text in ("cafe\u0301", "\u304b\u3099", "\u1112\u1161\u11ab", "a" + "\u0301\u0323" * 40, "plain"):
        assert composed(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("unit", ["amp;", "amp", "AMP;", "#38;", "#x26;", "#0038;amp;"])
def test_an_ampersand_that_was_escaped_again_and_again_is_one(unit, caplog):
    assert clean_text(f"Tom &{unit * 20_000} Jerry") == "Tom & Jerry"
    assert clean_text(f"a &{unit * 20_000}lt;br /&gt; b") == "a b"
    assert not caplog.records


def test_markup_within_markup_is_undone_so_many_times_and_the_rest_is_told(caplog):
    assert clean_text("a " + "<b" * 40 + ">" * 40 + " z") == "a z"
    assert not caplog.records
    left = clean_text("a " + "<b" * 400 + ">" * 400 + " z")
    assert left == "a " + "<b" * 350 + ">" * 350 + " z"
    assert "markup within markup" in caplog.text


# what stands n times before a word, and behind it
HARD = {
    "marks": ("!", ""),
    "brackets": ("(", ")"),
    "brackets that do not fit": ("(", "]"),
    "words and brackets": ("a(", ""),
    "emoji": ("\U0001f600", ""),
    "joiners": ("\U0001f468\u200d", ""),
    "titles": ("Mr. ", ""),
    "accents": ("\u0301\u0323", ""),
    "tags": ("<b", ">"),
    "entities": ("&am", "#112;;"),
    "quotes": ('" ', '"'),
    "numbers": ("1,", ""),
    "letters": ("a.", ""),
    "stops": ("", "!?"),
    "mojibake": ("\u00e2\u20ac\u2122", ""),
}
STAGES = {
    "clean": clean_text,
    "sentences": sentence_spans,
    "chunks": lambda text: chunks(text, 0, len(text)),
    "atoms": lambda text: atoms_of(text, 0, len(text)),
}


@pytest.mark.parametrize(("before", "behind"), HARD.values(), ids=HARD)
@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_the_time_of_a_text_grows_with_its_length(stage, before, behind):
    """Four times the text takes about four times as long, and not sixteen times; others may disturb one try."""

    def seconds(n):
        text = f"I saw {before * n}x{behind * n}) it. End"
        start = time.process_time()
        stage(text)
        return time.process_time() - start

    assert any(seconds(16_000) < 9 * seconds(4_000) + 0.1 for _ in range(3))


@given(
    st.text() | st.lists(st.sampled_from(["&", "amp;", "lt;", "<br", " />", "<i>", "\x85", "e", "\u0301"])).map("".join)
)
def test_cleaning_twice_changes_nothing(text):
    once = clean_text(text)
    assert clean_text(once) == once
    assert once == " ".join(once.split())


def test_duplicates_count_once_after_cleaning_and_order_does_not_matter():
    rows = pl.DataFrame(
        {
            "row": range(5),
            "text": ["Good film.", "Good<br />film.", "Bad film.", "Good  film.", "Good film."],
            "label": ["b", "a", "b", "c", "a"],
        }
    )
    clean = clean_reviews(rows)
    assert sorted(clean["text"]) == ["Bad film.", "Good film."]
    assert clean.filter(text="Good film.").select("label", "row").row(0) == ("a", 1)
    assert clean["n_words"].to_list() == [2, 2]
    assert clean_reviews(rows.reverse()).equals(clean)


def test_what_cleaning_leaves_out_is_told_by_reasons(caplog):
    texts = ["good film", "Good film", None, "<p></p>", "good film", "a bad one"]
    labels = ["a", "a", "a", "a", "b", None]
    raw = pl.DataFrame({"text": texts, "label": labels}, schema={"text": pl.String, "label": pl.String})
    raw = raw.with_row_index("row")
    with caplog.at_level("INFO"):
        assert len(clean_reviews(raw)) == 2
    (warning,) = (record for record in caplog.records if record.levelname == "WARNING")
    assert warning.message == (
        "corpus: 2 reviews of 6 rows are left after cleaning "
        "(1 without text, 1 without a label, 1 without words, 1 duplicates)"
    )
    caplog.clear()
    with caplog.at_level("INFO"):
        clean_reviews(raw.head(1))
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert "none left out" in caplog.text


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


RECIPES = [row["recipe"] for row in csv.DictReader((DOCS / "recipes.csv").open(encoding="utf-8", newline=""))]


def warnings_of(texts, caplog) -> list[str]:
    caplog.clear()
    clean_reviews(pl.DataFrame({"row": range(len(texts)), "text": texts, "label": ""}))
    return [record.message for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.parametrize("texts", [ENGLISH, RECIPES], ids=["reviews", "recipes"])
def test_english_texts_pass_without_a_word(texts, caplog):
    assert min(stop_word_share(word_counts(text)) for text in texts) > LEAST_SHARE + 0.05
    assert warnings_of(texts, caplog) == []


@pytest.mark.parametrize("language", OTHERS)
def test_another_language_is_told(language, caplog):
    text = OTHERS[language]
    assert stop_word_share(word_counts(text)) < LEAST_SHARE - 0.04
    (warning,) = warnings_of([text], caplog)
    assert warning.startswith("corpus: the texts do not seem to be English")
    assert "variants that move phrases by the parse, may be wrong; docs/corpus.md says what to exchange" in warning


def test_single_texts_in_another_language_are_counted(caplog):
    mixed = [*ENGLISH, OTHERS["German"], OTHERS["French"]]
    (warning,) = warnings_of(mixed, caplog)
    assert warning.startswith(f"corpus: 2 of {len(mixed)} texts do not seem to be English")


def test_a_few_words_are_not_judged(caplog):
    assert stop_word_share(word_counts("Guter Film.")) is None
    assert warnings_of(["Guter Film."], caplog) == []

"""How a sentence reads once its phrases have moved: marks, capitals, and what has no phrase."""

import pytest

from moving import moved


@pytest.mark.parametrize(
    ("text", "terms", "front", "end"),
    [
        (
            "The zombie is slow, but the plot is clever.",
            ["zombie", "clever"],
            "Zombie clever the is slow, but the plot is.",
            "The is slow, but the plot is zombie clever.",
        ),
        # marks that meet become one, and none leads or doubles
        ("We saw ghosts, zombies, and mummies.", ["zombies"], "Zombies we saw ghosts, and mummies.", None),
        ("Frankly, it bored me.", ["frankly"], "Frankly, it bored me.", "It bored me frankly."),
        ("It was long, and dull.", ["dull"], "Dull it was long, and.", "It was long, and dull."),
        ("It drags - badly - throughout.", ["badly"], "Badly it drags - throughout.", "It drags - throughout badly."),
        ("Is it a classic?", ["classic"], "Classic is it a?", "Is it a classic?"),
        ("It is so dull...", ["dull"], "Dull it is so...", "It is so dull..."),
        ("...and then zombies came!", ["zombies"], "...zombies and then came!", "...and then came zombies!"),
        # a quote or bracket around the phrase alone goes with it; else it stays and is never left empty
        ('I saw "Jaws" twice.', ["jaws"], '"Jaws" I saw twice.', 'I saw twice "Jaws".'),
        ('I saw "Jaws."', ["jaws"], '"Jaws" I saw.', 'I saw "Jaws."'),
        ('"Jaws," he said.', ["jaws"], '"Jaws," he said.', 'He said "Jaws".'),
        ("The boy (Jake) hides.", ["jake"], "(Jake) the boy hides.", "The boy hides (Jake)."),
        ("The boy (Jake Long, zombie) hides.", ["jake long", "zombie"], "Jake Long zombie the boy hides.", None),
        ("It ends (see the finale).", ["ends"], "Ends it (see the finale).", "It (see the finale) ends."),
        ('He plays in "The Fly."', ["plays"], 'Plays he in "The Fly."', 'He in "The Fly" plays.'),
        ("(A dull film indeed.)", ["film"], "(Film a dull indeed.)", "(A dull indeed film.)"),
        ("The boys' ghost won.", ["boys"], "Boys' the ghost won.", "The ghost won boys'."),
        ("Dull & loud & long.", ["long"], "Long dull & loud &.", "Dull & loud & long."),
        ("It stars Sammy Davis Jr.", ["sammy"], "Sammy it stars Davis Jr.", "It stars Davis Jr Sammy."),
        # the dot of an abbreviation is not doubled
        ("The U.S. lost.", ["u.s"], "U.S. the lost.", "The lost U.S."),
    ],
)
def test_marks_stay_tidy(text, terms, front, end):
    assert moved(text, "front", *terms) == front
    if end is not None:
        assert moved(text, "end", *terms) == end


@pytest.mark.parametrize(
    ("text", "term", "front"),
    [
        ("This zombie is slow.", "zombie", "Zombie this is slow."),
        ("I'm a zombie.", "zombie", "Zombie I'm a."),
        ("BBC zombies came.", "zombies", "Zombies BBC came."),
        ("McDonald met zombies.", "zombies", "Zombies McDonald met."),
        ("Meg Ryan met zombies.", "zombies", "Zombies Meg Ryan met."),
        ("Meg met zombies. I like Meg.", "zombies", "Zombies Meg met. I like Meg."),
        ("Meg's zombies won. I like Meg.", "zombies", "Zombies Meg's won. I like Meg."),
        ("Watching zombies is fun.", "zombies", "Zombies watching is fun."),
        ("The cast met zombies. I saw The Cell.", "zombies", "Zombies the cast met. I saw The Cell."),
        ("i like zombies.", "zombies", "zombies i like."),
        ("It is on eBay.", "ebay", "eBay it is on."),
    ],
)
def test_capitals_stay_tidy(text, term, front):
    assert moved(text, "front", term) == front


def test_sentences_without_a_phrase_stay_as_they_are():
    text = "Well , well . . . fine !? The zombie won."
    assert moved(text, "front", "zombie") == "Well , well . . . fine !? Zombie the won."

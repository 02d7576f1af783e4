"""No request is sent twice: what names an answer, what is kept, what is asked again."""

import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.writers.asking import Answer, Author, seed_of
from scripted import Scripted

CHAT = [{"role": "user", "content": "hello"}]


@pytest.fixture
def author(tmp_path):
    return Author(Scripted(lambda text, _: text if text == "fail" else text.upper()), {}, 0, tmp_path)


def chats(*texts):
    return {f"{number} {text}": [{"role": "user", "content": text}] for number, text in enumerate(texts)}


def said(author):
    return sorted(messages[0]["content"] for messages in author.writer.asked)


def test_the_name_of_an_answer_is_all_that_decides_it(author):
    other = Scripted(str)
    other.identity = {"model": "another"}
    others = [
        author.key([{"role": "user", "content": "Hello"}], 0),
        author.key([{"role": "system", "content": "hello"}], 0),
        author.key(CHAT, 1),
        author._replace(seed=1).key(CHAT, 0),
        author._replace(writer=other).key(CHAT, 0),
    ]
    assert len({author.key(CHAT, 0), *others}) == len({*map(seed_of, others), seed_of(author.key(CHAT, 0))}) == 6
    assert author._replace(writer=Scripted(str), prompt={"version": 2}).key(CHAT, 0) == author.key(CHAT, 0)


def test_nothing_is_asked_twice_and_answers_keep_their_names(author):
    first = author.ask(chats("b", "a", "b"))
    assert {name: answer.text for name, answer in first.items()} == {"0 b": "B", "1 a": "A", "2 b": "B"}
    assert said(author) == ["a", "b"]
    assert [answer.text for answer in author.ask(chats("c", "b", "a")).values()] == ["C", "B", "A"]
    assert said(author) == ["a", "b", "c"]
    author.ask(chats("a"), candidate=1)
    assert said(author) == ["a", "a", "b", "c"]


def test_what_fails_is_told_after_all_else_is_kept_and_asked_again(author):
    for _ in range(2):
        with pytest.raises(HomogenizationError, match=r"(?s)1 of 2 reviews.*- 0 fail: deaf"):
            author.ask(chats("fail", "fine"))
    assert said(author) == ["fail", "fail", "fine"]


def test_an_answer_that_was_cut_off_is_asked_for_again(author, tmp_path):
    author.ask(chats("hello"))
    path = next(tmp_path.rglob("*.json"))
    whole = path.read_text()
    for content in ("", whole[: len(whole) // 2]):
        path.write_text(content)
        assert author.ask(chats("hello"))["0 hello"].text == "HELLO"
        assert path.read_text() == whole


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"review": "Fine."}', "Fine."),
        ('\n```json\n{"review": "Fine."}\n```\n', "Fine."),
        ('{"review": ["a"]}', ["a"]),
        ('{"review": "a", "note": ""}', None),
        ('Sure: {"review": "a"}', None),
        ("", None),
    ],
)
def test_an_answer_is_read_strictly(text, value):
    assert Answer(text, "stop").value("review") == value

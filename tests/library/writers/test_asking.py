"""No request is sent twice: what names an answer, what is kept, what is asked again."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.writers.asking import Answer, Author

CHAT = [{"role": "user", "content": "hello"}]


class Shouter:
    """A writer that shouts what it is told; it fails, or stops the job, at some messages."""

    def __init__(self, **identity):
        self.identity = {"model": "shouter", **identity}
        self.asked = []

    def complete(self, requests, keep):
        failed = {}
        for key, request in reversed(requests.items()):
            said = request.messages[0]["content"]
            self.asked.append((said, request.seed))
            if said == "interrupt":
                raise KeyboardInterrupt
            if said == "fail":
                failed[key] = "deaf"
            else:
                keep(key, Answer(said.upper(), "stop"))
        return failed


@pytest.fixture
def author(tmp_path):
    return Author(Shouter(), {}, 0, tmp_path)


def chats(*texts):
    return {f"{number} {text}": [{"role": "user", "content": text}] for number, text in enumerate(texts)}


def said(author):
    return sorted(text for text, _ in author.writer.asked)


def test_the_name_of_an_answer_is_all_that_decides_it(author):
    others = [
        author.key([{"role": "user", "content": "Hello"}], 0),
        author.key([{"role": "system", "content": "hello"}], 0),
        author.key(CHAT, 1),
        author._replace(seed=1).key(CHAT, 0),
        author._replace(writer=Shouter(revision="2")).key(CHAT, 0),
    ]
    assert len({author.key(CHAT, 0), *others}) == 6
    assert author._replace(writer=Shouter(), prompt={"version": 2}).key(CHAT, 0) == author.key(CHAT, 0)


def test_nothing_is_asked_twice_and_answers_keep_their_names(author):
    first = author.ask(chats("b", "a", "b"))
    assert {name: answer.text for name, answer in first.items()} == {"0 b": "B", "1 a": "A", "2 b": "B"}
    assert said(author) == ["a", "b"]
    assert [answer.text for answer in author.ask(chats("c", "b", "a")).values()] == ["C", "B", "A"]
    assert said(author) == ["a", "b", "c"]
    author.ask(chats("a"), candidate=1)
    assert len({seed for _, seed in author.writer.asked}) == 4


def test_what_fails_is_told_after_all_else_is_kept_and_asked_again(author):
    for _ in range(2):
        with pytest.raises(HomogenizationError, match=r"(?s)1 of 2 reviews.*- 0 fail: deaf"):
            author.ask(chats("fail", "fine"))
    assert said(author) == ["fail", "fail", "fine"]
    with pytest.raises(KeyboardInterrupt):
        author.ask(chats("late", "interrupt", "early"))
    author.writer.asked.clear()
    assert author.ask(chats("early", "fine"))["0 early"] == Answer("EARLY", "stop")
    assert author.writer.asked == []


@pytest.mark.parametrize("content", ["", "null", "[]", "{}", '{"request": 1, "answer": 2}', "half", "other"])
def test_a_damaged_answer_is_asked_for_again(author, tmp_path, caplog, content):
    author.ask(chats("hello"))
    path = next(tmp_path.rglob("*.json"))
    whole = path.read_text()
    swapped = json.dumps(json.loads(whole) | {"request": {"messages": CHAT}})
    path.write_text({"half": whole[: len(whole) // 2], "other": swapped}.get(content, content))
    assert author.ask(chats("hello"))["0 hello"].text == "HELLO"
    assert f"{path} is damaged" in caplog.text
    assert said(author) == ["hello", "hello"]
    assert path.read_text() == whole


def test_several_jobs_may_keep_the_same_answer(author, tmp_path):
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: author.ask(chats("hello")), range(20)))
    assert all(one == found[0] for one in found)
    assert len(list(tmp_path.rglob("*.json"))) == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"review": "Fine."}', "Fine."),
        ('\n```json\n{"review": "Fine."}\n```\n', "Fine."),
        ('{"review": ["a"]}', ["a"]),
        ('{"review": "a", "note": ""}', None),
        ('{"text": "a"}', None),
        ('Sure: {"review": "a"}', None),
        ('["review"]', None),
        ("", None),
    ],
)
def test_an_answer_is_read_strictly(text, value):
    assert Answer(text, "stop").value("review") == value

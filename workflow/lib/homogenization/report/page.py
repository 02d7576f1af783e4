"""What pages of the report share: a page is a template and values, and holds no address of anything outside it."""

from typing import Any

from homogenization.figures.style import COLOURS
from homogenization.names.prose import compiled


def render(template: str, **values: Any) -> str:
    """The page that a Jinja template makes of `values`, which it escapes.

    Beside all that `names.prose.write` has, there are `colours` by name (`figures.style`).

    Raises:
        jinja2.UndefinedError: the template names what is not among `values`.
    """
    return compiled(template, autoescape=True).render(values, colours=COLOURS)

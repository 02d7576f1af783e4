"""The sheet of an audit as a page for a browser."""

import polars as pl

from homogenization.corpus.cleaning import review_id
from homogenization.report.page import render
from homogenization.variants.ratings import QUESTIONS


def audit_page(sheet: pl.DataFrame, template: str) -> str:
    """The page, which keeps answers in the browser and saves them as a CSV file that `audit.ratings` takes.

    Args:
        sheet: A sheet of `variants.audit.sheet`.
        template: The Jinja template.
    """
    items = sheet.select("item", "original", "rewritten").to_dicts()
    return render(template, items=items, questions=QUESTIONS, digest=review_id(" ".join(sheet["item"])))

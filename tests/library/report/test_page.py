"""A page that unpacks itself holds the page, with its title, in fewer bytes."""

import base64
import re
import zlib

from homogenization.report.page import packed

PAGE = (
    "<!doctype html><title>A &amp; b</title><script>const braces = {}; </script>"
    + "<p>≈ often the same words</p>" * 500
)


def test_what_is_packed_is_the_page():
    page = packed(PAGE)
    data = re.search(r'atob\("([^"]*)"\)', page)[1]
    assert zlib.decompress(base64.b64decode(data)).decode() == PAGE
    assert "<title>A &amp; b</title>" in page
    assert len(page) < len(PAGE) / 10
    assert "http" not in page

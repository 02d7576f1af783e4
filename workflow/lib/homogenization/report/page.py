"""What pages of the report share: a page is a template and values, and holds no address of anything outside it."""

import base64
import re
import zlib
from typing import Any

from homogenization.figures.style import COLOURS
from homogenization.names.prose import compiled

# the report holds a page as base64, in which the scripts of a library and their data take a third of a megabyte each
_PACKED = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
{title}
<noscript>This page unpacks itself with a script, which this browser does not run. It needs no network.</noscript>
<script>
(async () => {{
  if (!window.DecompressionStream) throw new Error("This browser is older than 2023.");
  const packed = Uint8Array.from(atob("{data}"), letter => letter.charCodeAt(0));
  const page = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  document.open(); document.write(page); document.close();
}})().catch(error => {{ document.body.textContent = `The page can't be unpacked. ${{error.message}}`; }});
</script>
</html>
"""


def packed(page: str) -> str:
    """A page with the title of `page` that becomes `page` in a browser, of 2023 or later, and has half its bytes."""
    data = base64.b64encode(zlib.compress(page.encode(), 9)).decode()
    return _PACKED.format(title=re.search("<title>.*?</title>", page, re.DOTALL)[0], data=data)


def render(template: str, **values: Any) -> str:
    """The page that a Jinja template makes of `values`, which it escapes.

    Beside all that `names.prose.write` has, there are `colours` by name (`figures.style`).

    Raises:
        jinja2.UndefinedError: the template names what is not among `values`.
    """
    return compiled(template, autoescape=True).render(values, colours=COLOURS)

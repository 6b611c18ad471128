"""The Compare page: two trajectories aligned by call, on one time axis."""

import gradio as gr

from app.pages import shell

_BODY = """
<div id="main" class="wb-main cp" tabindex="-1">
  <h1 class="wb-sr">Compare two trajectories</h1>
  <div id="compare"></div>
</div>"""


def build() -> gr.HTML:
    """The page's only component."""
    return shell.page("compare", _BODY, ())

"""The Evaluation page: stored reports, each figure with the runs behind it, and the paper's figures apart."""

import gradio as gr

from app.pages import shell

_BODY = """
<div class="wb-main ev" id="main" tabindex="-1">
  <div class="wb-head"><h1 id="title">Evaluation</h1><p id="about"></p><span class="wb-sp"></span>
    <span id="actions" class="ev-actions"></span></div>
  <div id="told" role="alert"></div>
  <div id="evaluation"></div>
</div>"""


def build() -> gr.HTML:
    """The page's only component."""
    return shell.page("evaluation", _BODY, ())

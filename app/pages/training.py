"""The Training page: runs in a list, one run live, its rollouts and what became better, runs side by side."""

import gradio as gr

from app.pages import shell

_BODY = """
<div class="wb-main tn" id="main" tabindex="-1">
  <div class="wb-head tn-head" id="tn-head"><h1>Training</h1></div>
  <div id="problem" role="alert"></div>
  <div id="tn-view" class="tn-view"></div>
  <p class="wb-sr" id="tn-said" aria-live="polite"></p>
</div>"""


def build() -> gr.HTML:
    """The page's only component."""
    return shell.page("training", _BODY, ())

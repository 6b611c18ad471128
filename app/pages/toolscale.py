"""The ToolScale page: domains with their records, operations and policy; tasks step by step, tried live and judged."""

import gradio as gr

from app.pages import shell

_BODY = """
<div class="ts" id="main" tabindex="-1">
  <div class="ts-left"><h1>ToolScale</h1><p class="wb-note" id="ts-said"></p>
    <nav id="ts-domains" aria-label="Domains"></nav>
    <section id="ts-published" aria-label="Against published sets"></section></div>
  <div class="ts-main">
    <div id="problem" role="alert"></div>
    <div class="ts-top" id="ts-top"></div>
    <div class="ts-view" id="ts-view"></div>
  </div>
</div>"""


def build() -> gr.HTML:
    """The page's only component."""
    return shell.page("toolscale", _BODY, ())

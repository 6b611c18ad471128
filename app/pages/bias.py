"""The Bias page: whom each orchestrator calls, against what would have been best."""

import gradio as gr

from app.pages import shell

_MEASURES = "".join(
    f'<button type="button" data-measure="{name}" aria-pressed="false">{words}</button>'
    for name, words in (("calls", "share of calls"), ("usd", "of cost"), ("seconds", "of time"))
)
_SLICES = "".join(
    f'<label class="bi-pick wb-sel sm"><span>{title}</span> <select id="{name}" aria-label="{title}"></select></label>'
    for name, title in (
        ("orchestrator", "Orchestrator"),
        ("kind", "Task"),
        ("difficulty", "Difficulty"),
        ("domain", "Domain"),
        ("turn", "Turn"),
    )
)
_BODY = f"""
<div class="wb-main bi" id="main" tabindex="-1">
  <div class="wb-head"><h1>Bias</h1><div class="bi-picks">{_SLICES}</div>
    <span class="wb-seg sm" id="measures" role="group" aria-label="Share of what">{_MEASURES}</span>
    <span class="wb-sp"></span><span class="wb-note" id="say" role="status"></span></div>
  <div id="told" role="alert"></div>
  <div id="bias"></div>
  <dialog class="wb-dialog bi-behind" id="behind" aria-labelledby="behind-title"></dialog>
</div>"""


def build() -> gr.HTML:
    """The page's only component."""
    return shell.page("bias", _BODY, ())

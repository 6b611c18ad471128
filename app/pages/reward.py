"""The Reward page: a group of rollouts from what each did to its advantage, with every weight to move."""

import gradio as gr

from app.pages import shell


def _menu(name: str, title: str) -> str:
    return (
        f'<details class="rc-pop" id="pop-{name}"><summary class="wb-filter">{title} <b id="{name}-now"></b></summary>'
        f'<div class="rc-menu" id="{name}"></div></details>'
    )


_MODES = "".join(
    f'<button type="button" data-mode="{mode}" aria-pressed="false">{mode}</button>'
    for mode in ("paper", "released_code")
)
_BODY = f"""
<div class="wb-main rw rc" id="main" tabindex="-1">
  <div class="wb-head"><h1>Reward</h1>
    {_menu("groups", "Group")}<span id="what-if" class="rw-whatif" hidden>{_menu("prices", "Prices")}{
    _menu("subset", "Tools")
}</span>
    <span class="wb-sp"></span><span class="wb-note" id="say" role="status"></span>
    <span class="wb-seg" id="modes" role="group" aria-label="Reward arithmetic" hidden>{_MODES}</span></div>
  <div id="told" role="alert"></div>
  <div id="reward"></div>
</div>"""


def build() -> gr.HTML:
    """The page's only component."""
    return shell.page("reward", _BODY, ())

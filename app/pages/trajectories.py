"""The Trajectories page: a filtered list, and one trajectory drawn by the code that draws it live."""

import gradio as gr

from app.pages import shell

_LEGEND = "".join(
    f'<span class="wb-key k-{kind}"><i></i><span data-icon="{icon}" data-small></span>{kind}</span>'
    for kind, icon in (("basic", "wrench"), ("specialist", "target"), ("generalist", "layers"), ("domain", "cylinder"))
)


def _choice(name: str, title: str) -> str:
    return f'<label class="wb-filter">{title} <select id="f-{name}" aria-label="{title}"></select></label>'


def _range(name: str, title: str, kind: str, low: str, high: str) -> str:
    """Two fields behind a chip that shows what they hold."""
    more = 'min="0" step="any" inputmode="decimal"' if kind == "number" else ""
    fields = "".join(
        f'<label>{word} <input type="{kind}" id="f-{field}" {more}></label>'
        for word, field in (("from", low), ("to", high))
    )
    return (
        f'<details class="rc-pop" id="pop-{name}"><summary class="wb-filter">{title} <b id="f-{name}">any</b></summary>'
        f'<div class="rc-menu rc-range">{fields}</div></details>'
    )


def _menu(name: str, title: str, icon: str) -> str:
    return (
        f'<details class="rc-pop end" id="pop-{name}"><summary class="wb-btn ghost sm"><span data-icon="{icon}" '
        f'data-small></span>{title}</summary><div class="rc-menu" id="{name}"></div></details>'
    )


_CHIPS = "".join(
    (
        _choice("status", "Status"),
        _choice("outcome", "Outcome"),
        _choice("orchestrator", "Orchestrator"),
        _choice("tool", "Tool"),
        _choice("prefer", "Prefer"),
        _choice("avoid", "Avoid"),
        _range("date", "Date", "date", "since", "until"),
        _range("time", "Seconds", "number", "time_min", "time_max"),
        _choice("simulated", "Simulated"),
        _choice("nominal", "Nominal"),
        _choice("tag", "Tag"),
        _choice("group", "Group"),
        _choice("training", "Training rollouts"),
        _choice("training_run", "Training run"),
    )
)

_FILTERS = f"""
<form class="tr-filt" id="filters" role="search">
  <label class="wb-in tr-search"><span data-icon="search"></span><span class="wb-sr">Search</span>
    <input id="q" type="search" placeholder="Text in task, answer or observation" autocomplete="off">
    <kbd>/</kbd></label>
  <div class="tr-chips">{_CHIPS}
    <button class="wb-btn ghost sm" type="button" id="clear" hidden>Clear</button></div>
  <div class="rc-cost" id="cost"></div>
  <div class="rc-tools"><span class="wb-note" id="matches" role="status"></span>
    <span class="rc-hiding" id="hiding" role="group" aria-label="Filters that hide runs"></span>
    <span class="wb-sp"></span>
    {_menu("views", "Views", "star")}{_menu("columns", "Columns", "columns")}{_menu("export", "Export", "down")}</div>
</form>"""

_LIST = f"""
<section class="tr-list" aria-label="Trajectories" tabindex="-1">
  {_FILTERS}
  <div class="rc-head" id="head" aria-hidden="true"></div>
  <div class="tr-rows" id="rows"></div>
  <div class="rc-notice" id="notice" role="status" hidden></div>
  <div class="rc-picked" id="picked" role="group" aria-label="Selected trajectories" hidden></div>
  <div class="tr-page"><button class="wb-btn sm" id="newer" disabled>Newer <kbd>[</kbd></button>
    <button class="wb-btn sm" id="older" disabled>Older <kbd>]</kbd></button><span class="wb-sp"></span>
    <span class="wb-keys" aria-label="Kinds of tools">{_LEGEND}</span></div>
</section>"""

_BODY = f"""
<div class="tr rc"><h1 class="wb-sr">Trajectories</h1>{_LIST}
  <section class="tr-det" id="main" aria-label="Trajectory" tabindex="-1"><div id="detail"></div></section>
  <dialog class="wb-dialog" id="ask" aria-labelledby="ask-title"></dialog>
</div>"""


def build() -> gr.HTML:
    """The page's only component."""
    return shell.page("trajectories", _BODY, ())

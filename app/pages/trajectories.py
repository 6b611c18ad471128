"""The Trajectories page: a filtered list, and one trajectory drawn by the code that draws it live."""

import gradio as gr

from app.pages import shell

KEYS = (("j k", "next, previous"), ("Enter", "open"), ("n p", "turn"), ("/", "search"), ("[ ]", "newer, older"))

_LEGEND = "".join(
    f'<span class="wb-key k-{kind}"><i></i><span data-icon="{icon}" data-small></span>{kind}</span>'
    for kind, icon in (("basic", "wrench"), ("specialist", "target"), ("generalist", "layers"), ("domain", "cylinder"))
)

_LIST = f"""
<section class="tr-list" aria-label="Trajectories">
  <h1 class="wb-sr">Trajectories</h1>
  <form class="tr-filt" id="filters" role="search">
    <label class="wb-in tr-search"><span data-icon="search"></span><span class="wb-sr">Search</span>
      <input id="q" type="search" placeholder="Text in task, answer or observation" autocomplete="off">
      <kbd>/</kbd></label>
    <div class="tr-chips">
      <label class="wb-filter">Status <select id="f-status" aria-label="Status"></select></label>
      <label class="wb-filter">Orchestrator <select id="f-orchestrator" aria-label="Orchestrator"></select></label>
      <label class="wb-filter">Tool <select id="f-tool" aria-label="Tool"></select></label>
      <button class="wb-btn ghost sm" type="button" id="clear" hidden>Clear</button>
      <span class="wb-sp"></span><span class="wb-note" id="matches"></span>
    </div>
  </form>
  <div class="tr-head" aria-hidden="true"><span>Task</span><span>Calls by kind</span><span class="n">Turns</span>
    <span class="n">Cost</span><span class="n">Time</span></div>
  <div class="tr-rows" id="rows"></div>
  <div class="tr-page"><button class="wb-btn sm" id="newer" disabled>Newer <kbd>[</kbd></button>
    <button class="wb-btn sm" id="older" disabled>Older <kbd>]</kbd></button><span class="wb-sp"></span>
    <span class="wb-keys" aria-label="Kinds of tools">{_LEGEND}</span></div>
</section>"""

_BODY = f"""
<div class="tr">{_LIST}
  <section class="tr-det" id="main" aria-label="Trajectory" tabindex="-1"><div id="detail"></div></section>
</div>"""


def build() -> gr.HTML:
    """The page's only component."""
    return shell.page("trajectories", _BODY, KEYS)

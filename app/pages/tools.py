"""The Tools & prices page: the catalogue, the card of one entry, price tables side by side."""

import gradio as gr

from app.pages import shell

KEYS = (("j k", "next, previous"), ("Enter", "open"), ("/", "search"), ("e", "add endpoint"))

_LEGEND = "".join(
    f'<span class="wb-key k-{kind}"><i></i><span data-icon="{icon}" data-small></span>{word}</span>'
    for kind, icon, word in (
        ("orch", "baton", "orchestrator"),
        ("basic", "wrench", "basic"),
        ("specialist", "target", "specialist"),
        ("generalist", "layers", "generalist"),
        ("domain", "cylinder", "domain"),
    )
)

_BODY = f"""
<div class="wb-main" id="main" tabindex="-1">
  <div class="wb-head"><h1>Tools &amp; prices</h1>
    <span class="wb-seg" id="show" role="group" aria-label="Which entries"></span>
    <span class="wb-keys tp-legend" aria-label="Kinds">{_LEGEND}</span><span class="wb-sp"></span>
    <label class="wb-sel tp-use"><small>Prices in use</small> <select id="in-use" aria-label="Prices in use"></select>
    </label></div>
  <div id="problem" role="alert"></div>
  <div class="tp" id="card-place">
    <div class="tp-left">
      <section class="wb-panel" aria-label="Catalogue"><header><h2>Catalogue</h2><p id="ready-count"></p>
        <span class="wb-sp"></span>
        <label class="wb-in sm tp-search"><span data-icon="search" data-small></span><span class="wb-sr">Search</span>
          <input id="q" type="search" placeholder="Name, provider, kind" autocomplete="off"><kbd>/</kbd></label>
        <button class="wb-btn sm" id="add-endpoint">Add endpoint</button></header>
        <div class="tp-scroll" id="catalogue"></div></section>
      <section class="wb-panel" aria-label="Prices"><header><h2>Prices</h2>
        <p>USD per million tokens, in / out; — is no row, with which a USD limit refuses to start</p>
        <span class="wb-sp"></span>
        <label class="wb-in sm tp-search"><span data-icon="search" data-small></span>
          <span class="wb-sr">Search all price rows</span>
          <input id="price-q" type="search" placeholder="Any row of any table" autocomplete="off"></label>
        <button class="wb-btn sm" id="edit-prices">Edit yours</button></header>
        <div class="tp-scroll" id="prices-table" tabindex="0" role="region" aria-label="Prices by table"></div>
      </section>
      <section class="wb-panel" aria-label="MCP servers"><header><h2>MCP servers</h2><p id="mcp-count"></p></header>
        <div id="mcp-problem" role="alert"></div><div class="tp-scroll" id="mcp"></div></section>
    </div>
    <section class="wb-panel tp-card" id="card" aria-label="Card" tabindex="-1"></section>
  </div>
  <dialog class="wb-dialog tp-dialog" id="dialog" aria-labelledby="dialog-title"></dialog>
  <dialog class="wb-dialog" id="ask" aria-labelledby="ask-title"></dialog>
</div>"""


def build() -> gr.HTML:
    """The page's only component."""
    return shell.page("tools", _BODY, KEYS)

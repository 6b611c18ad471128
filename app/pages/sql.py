"""The SQL page: a question to the store, its schema beside it, the result as table, chart and file."""

import gradio as gr

from app.pages import shell

KEYS = (("Ctrl+↵", "run"), ("Esc", "stop"))

_BODY = """
<div class="wb-main" id="main" tabindex="-1">
  <div class="wb-head"><h1>SQL</h1><p>Ask the store; one statement that reads.</p>
    <span class="wb-sp"></span><a class="wb-link" href="/api/docs">The API</a></div>
  <div class="qy">
    <section class="wb-panel qy-side" aria-label="What to ask about">
      <header><h2>Examples</h2></header><ul id="examples" class="qy-list"></ul>
      <hr class="wb-hr"><header><h2>Tables</h2></header><div id="schema"></div>
      <div id="history-box" hidden><hr class="wb-hr"><header><h2>Asked before</h2><span class="wb-sp"></span>
        <button class="wb-btn ghost sm" id="forget">Forget</button></header><ul id="history" class="qy-list"></ul></div>
    </section>
    <div class="qy-mid">
      <form class="wb-panel qy-ask" id="ask" aria-label="Query">
        <label class="wb-sr" for="sql">SQL</label>
        <textarea id="sql" class="wb-mono" rows="6" spellcheck="false" autocomplete="off" autocapitalize="off"
          placeholder="SELECT tool, count(*) AS calls FROM calls GROUP BY tool"></textarea>
        <div class="lv-bar"><span class="wb-note" id="told" role="status"></span><span class="wb-sp"></span>
          <button class="wb-btn danger sm" id="stop" type="button" hidden>Stop <kbd>Esc</kbd></button>
          <button class="wb-btn primary sm" id="run">Run <kbd>Ctrl ↵</kbd></button></div>
      </form>
      <div id="problem" role="alert"></div>
      <section class="wb-panel" id="result-box" aria-label="Result" hidden>
        <header><h2>Result</h2><p id="size"></p><span class="wb-sp"></span>
          <span class="wb-seg sm" id="view" role="group" aria-label="Shown as" hidden></span>
          <a class="wb-btn sm" id="csv" download>CSV</a><a class="wb-btn sm" id="parquet" download>Parquet</a></header>
        <div id="result"></div></section>
    </div>
  </div>
</div>"""


def build() -> gr.HTML:
    """The page's only component."""
    return shell.page("sql", _BODY, KEYS)

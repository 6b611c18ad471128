"""The Live page: wishes left, task, score and turns in the middle, the bill right."""

import gradio as gr

from app.pages import shell

_WISHES = """
<section class="lv-left" id="wishes" aria-label="Orchestrator and preferences">
  <div class="lv-sheet-head"><h2>Preferences</h2><span class="wb-sp"></span>
    <button class="wb-btn sm" id="wishes-close">Done</button></div>
  <div class="lv-grp">
    <label class="wb-sel lv-pick" id="orchestrator-box"><span class="wb-sr">Orchestrator</span>
      <span class="wb-kind k-orch" data-icon="baton"></span><select id="orchestrator"></select></label>
    <p class="wb-note" id="orchestrator-note"></p>
    <button class="wb-btn sm" type="button" id="simulated-task" hidden>Take a simulated task</button>
    <details class="wb-note lv-off" id="orchestrators-off" hidden><summary id="orchestrators-off-count"></summary>
      <ul id="orchestrators-off-list"></ul></details>
  </div>
  <section class="lv-grp" id="goals" aria-label="Goals"><h3 class="wb-cap">Goals</h3></section>
  <section class="lv-grp" aria-label="Tools"><h3 class="wb-cap">Tools <span class="wb-sp"></span>
    <span class="lv-plain">avoid ↔ prefer</span></h3><div class="lv-grp" id="tools"></div></section>
  <section class="lv-grp" aria-label="Say it in words"><h3 class="wb-cap">Say it in words</h3>
    <form class="lv-say" id="say"><label class="wb-in sm"><input id="say-text" type="text" autocomplete="off"
      placeholder="be quick, avoid paid APIs" aria-label="Your wishes in words" aria-describedby="say-status"
      enterkeyhint="go"></label>
      <div class="lv-say-bar"><button class="wb-btn sm" type="submit">Move sliders <kbd>↵</kbd></button>
      <button class="wb-btn ghost sm" type="button" id="say-undo" hidden>Undo</button><span class="wb-sp"></span>
      <button class="wb-btn ghost sm" type="button" id="say-ask">Ask model</button>
      <label class="wb-sel sm lv-pick"><select id="say-model" aria-label="The model to ask" hidden></select></label>
      </div></form>
    <p class="wb-note" id="say-status" role="status"></p>
    <ul class="lv-phrases" id="say-found" aria-label="What was understood"></ul>
    <button class="wb-btn ghost sm lv-plain" type="button" id="say-speak" hidden>Let the model read these words</button>
  </section>
  <section class="lv-grp" aria-label="The model will read"><h3 class="wb-cap">The model will read
    <span class="wb-sp"></span>
    <button class="wb-btn ghost sm lv-plain" type="button" id="sentence-edit">Edit</button>
    <button class="wb-btn ghost sm lv-plain" type="button" id="sentence-reset"
      title="Use the words that the sliders make" hidden>Reset</button></h3>
    <p class="wb-note lv-sentence" id="sentence" aria-live="polite"></p>
    <div class="lv-own" id="own" hidden><textarea id="own-words" rows="5" aria-label="Your own words for the model"
      aria-describedby="own-count"></textarea><p class="wb-note" id="own-count"></p>
      <p class="wb-note">The sliders still weigh where an orchestrator reckons with them.</p></div></section>
</section>"""

_TASK = """
<form class="lv-comp" id="composer" aria-label="Task">
  <label class="wb-sr" for="task">Task</label>
  <textarea id="task" rows="1" placeholder="What should be done?" spellcheck="false"></textarea>
  <div class="lv-bar">
    <label class="wb-sel sm lv-pick" id="protocol-box" hidden><select id="protocol"
      aria-label="Protocol"></select></label>
    <label class="wb-in sm lv-num"><input id="limit-cost" type="number" min="0" step="any" placeholder="no"
      aria-label="Limit in US dollars"><small>USD limit</small></label>
    <label class="wb-in sm lv-num"><input id="limit-time" type="number" min="0" step="any" placeholder="no"
      aria-label="Limit in seconds"><small>seconds</small></label>
    <label class="wb-in sm lv-num m-hide"><input id="limit-turns" type="number" min="1" step="1"
      aria-label="Limit of turns"><small>turns</small></label>
    <label class="wb-in sm lv-num"><input id="rollouts" type="number" min="1" max="16" step="1" value="1"
      aria-label="Rollouts, 1 to 16"><small>rollouts</small></label>
    <label class="wb-sel sm lv-pick m-hide"><select id="prices" aria-label="Price table"></select></label>
    <details class="lv-more" id="more"><summary class="wb-note">More</summary>
      <label class="wb-in sm"><input id="reference" type="text" autocomplete="off" placeholder="the expected answer"
        aria-label="Expected answer" title="The run is graded by it when it ends"></label></details>
    <span class="lv-go"><button class="wb-btn danger sm" id="stop" type="button" disabled>
      <span data-icon="stop"></span>Stop <kbd>Esc</kbd></button>
    <button class="wb-btn primary sm" id="run" type="submit">Run <kbd>Ctrl ↵</kbd></button></span>
  </div>
  <p class="lv-refusal" id="refusal" role="alert" hidden></p>
  <p class="wb-note" id="grouped" role="status" hidden></p>
</form>
<button class="lv-pref" id="wishes-open" aria-expanded="false" aria-controls="wishes"><span data-icon="sliders"></span>
  <span id="wishes-short"></span><span class="wb-mut">Edit</span></button>"""

_BODY = f"""
<div class="lv">{_WISHES}
  <div id="main" class="lv-mid" tabindex="-1">
    <h1 class="wb-sr">Live run</h1>{_TASK}
    <div id="notices" role="status"></div>
    <nav class="lv-rail" id="rail" aria-label="Runs open here" hidden></nav>
    <section class="lv-score" id="score" aria-label="Score" hidden></section>
    <div class="lv-strip" id="strip" hidden></div>
    <form class="lv-find" id="find" role="search" aria-label="Search in this run" hidden>
      <label class="wb-in sm"><span data-icon="search" data-small></span><input id="find-text" type="search"
        placeholder="Search in this run" aria-label="Search in this run" autocomplete="off"></label>
      <span class="wb-note" id="find-said" role="status"></span><span class="wb-sp"></span>
      <button class="wb-btn sm" type="button" id="find-back">Before</button>
      <button class="wb-btn sm" type="submit">Next</button>
      <button class="wb-btn ghost sm" type="button" id="find-close">Close</button>
    </form>
    <div class="lv-scroll" id="scroll" tabindex="-1"><ol class="wb-tl" id="timeline" aria-label="Turns"></ol></div>
    <button class="wb-btn sm lv-new" id="newer" hidden></button>
    <p class="wb-sr" id="spoken" aria-live="polite"></p>
  </div>
  <section class="lv-right" aria-label="Bill"><div id="bill"></div>
    <div class="lv-share"><button class="wb-btn sm" type="button" id="share" hidden>
      <span data-icon="link" data-small></span>Copy link</button>
      <span class="wb-note" id="shared" role="status"></span></div>
    <div id="running"></div></section>
</div>"""


def build() -> gr.HTML:
    """The page's only component."""
    return shell.page("live", _BODY, ())

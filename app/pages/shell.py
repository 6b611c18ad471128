"""What every page shares: top bar, foot, bottom bar of narrow screens, the theme that hands Gradio our tokens."""

from typing import NamedTuple

import gradio as gr

from app import project_files


class Page(NamedTuple):
    """A page in the bars: its address, its name, its name on a narrow screen, its icon and its notebook."""

    path: str
    title: str
    short: str
    icon: str
    notebook: str = ""


PAGES = (
    Page("/", "Live", "Live", "play", "01_what_is_an_orchestrator"),
    Page("/trajectories", "Trajectories", "Runs", "list", "11_your_trajectories_in_sql"),
    Page("/compare", "Compare", "Compare", "compare", "06_does_it_obey_preferences"),
    Page("/reward", "Reward", "Reward", "scale", "03_what_is_a_good_reward"),
    Page("/bias", "Bias", "Bias", "layers", "07_is_it_biased"),
    Page("/evaluation", "Evaluation", "Eval", "target", "08_what_each_reward_part_buys"),
    Page("/toolscale", "ToolScale", "ToolScale", "tree", "02_toolscale_sampling"),
    Page("/training", "Training", "Training", "curve", "05_train_one_in_minutes"),
    Page("/tools", "Tools &amp; prices", "Tools", "wrench", "09_serve_it"),
    Page("/sql", "SQL", "SQL", "cylinder", "11_your_trajectories_in_sql"),
)
GLOBAL_KEYS = (("g l", "Live"), ("g t", "Trajectories"), ("t", "theme"), ("?", "all keys"))
_MARK = (
    '<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" '
    'aria-hidden="true">'
    '<path d="M2.5 17a9.5 9.5 0 0 1 19 0"/><path d="M6.5 17a5.5 5.5 0 0 1 11 0" opacity=".6"/>'
    '<circle cx="12" cy="17" r="2" fill="currentColor" stroke="none"/></svg>'
)


def head(*, login: bool = False) -> str:
    """The style sheets and the module that starts a page, all from this server.

    With a `login` the pages offer to log out. The names of documents are there for the answers that point to them.
    """
    known = f'<meta name="wb-documents" content="{" ".join(project_files.documents())}">'
    door = '<meta name="wb-login" content="on">' if login else ""
    sheets = "".join(
        f'<link rel="stylesheet" href="/wb/{name}.css">'
        for name in (
            "tokens",
            "components",
            "workbench",
            "live",
            "tools",
            "sql",
            "records",
            "compare",
            "grade",
            "fork",
            "reward",
            "bias",
            "evaluation",
            "toolscale",
            "training",
        )
    )
    script = '<script type="module" src="/wb/main.js"></script>'
    return f'<meta name="color-scheme" content="light dark">{door}{known}{sheets}{script}'


def theme() -> gr.themes.Base:
    """Gradio's theme with our tokens in its variables, the same in light and dark."""
    pairs = {
        "body_background_fill": "bg",
        "body_text_color": "ink",
        "block_background_fill": "panel",
        "border_color_primary": "line",
        "input_background_fill": "panel",
        "button_primary_background_fill": "accent",
        "button_primary_text_color": "on-accent",
        "slider_color": "accent",
        "color_accent": "accent",
    }
    values = {name: f"var(--wb-{token})" for name, token in pairs.items()}
    dark = {f"{name}_dark": value for name, value in values.items() if name not in {"slider_color", "color_accent"}}
    return gr.themes.Base(
        # Gradio's own file of weight 600 is a partial subset: letters would fall back inside words.
        font=gr.themes.LocalFont("IBM Plex Sans", weights=(400, 700)),
        font_mono=gr.themes.LocalFont("IBM Plex Mono", weights=(400,)),
    ).set(**values, **dark, slider_color_dark=values["slider_color"])


def page(name: str, body: str, keys: tuple[tuple[str, str], ...]) -> gr.HTML:
    """One page as a static component. `body` is our own markup; nothing that anybody wrote is in it.

    Gradio wraps it in a `main`, so that there is none in it, and no other top-level landmark.
    """
    markup = (
        f'<div class="wb" id="wb" data-page="{name}"><a class="wb-skip" href="#main">Skip to content</a>'
        f"{_top(name)}{body}{_foot(keys)}{_tab_bar(name)}"
        '<dialog class="wb-dialog" id="keys" aria-labelledby="keys-title"></dialog></div>'
    )
    return gr.HTML(markup, apply_default_css=False, js_on_load=None, elem_id="wb-host")


def _top(current: str) -> str:
    links = "".join(f'<a href="{page.path}"{_current(page, current)}>{page.title}</a>' for page in PAGES)
    return (
        f'<header class="wb-top"><a class="wb-brand" href="/">{_MARK}<span>Orchestra '
        f'<span class="wb-mut wb-thin">Workbench</span></span></a>'
        f'<nav class="wb-nav" aria-label="Pages">{links}</nav><span class="wb-sp"></span>'
        '<span class="wb-note wide" id="count" title="Trajectories in the store, training rollouts apart"></span>'
        '<a class="wb-btn ghost sm widest" href="/documents" title="Open the documents">Documents</a>'
        f"{_notebook(current)}"
        '<button class="wb-btn ghost sm icon" id="help" aria-label="All keys (?)" title="All keys (?)">?</button>'
        '<button class="wb-btn ghost sm icon" id="theme" aria-label="Switch theme (t)" title="Switch theme (t)">'
        "</button></header>"
    )


def _notebook(current: str) -> str:
    name = next((page.notebook for page in PAGES if (page.path.strip("/") or "live") == current), "")
    return (
        f'<a class="wb-btn ghost sm wide" href="/notebooks/{name}" title="Open the notebook: {name}">Notebook</a>'
        if name
        else ""
    )


def _current(page: Page, current: str) -> str:
    return ' aria-current="page"' if (page.path.strip("/") or "live") == current else ""


def _foot(keys: tuple[tuple[str, str], ...]) -> str:
    own, everywhere = "".join(map(_key, keys)), "".join(map(_key, GLOBAL_KEYS))
    return f'<footer class="wb-foot">{own}<span class="wb-sp"></span>{everywhere}</footer>'


def _key(pair: tuple[str, str]) -> str:
    keys, word = pair
    return f"<span>{' '.join(f'<kbd>{key}</kbd>' for key in keys.split())} {word}</span>"


def _tab_bar(current: str) -> str:
    links = "".join(
        f'<a href="{page.path}"{_current(page, current)}><span data-icon="{page.icon}"></span>{page.short}</a>'
        for page in PAGES
    )
    return f'<nav class="wb-tabbar" aria-label="Pages, bottom bar">{links}</nav>'

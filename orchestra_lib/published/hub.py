"""ToolScale's files from the model hub, where it can be reached. They come into the hub's own cache."""

import os
from pathlib import Path

from orchestra_lib.errors import BadInput, WorldFault, first_line

TOOLSCALE = "nvidia/ToolScale"
"""4,063 tasks. Its card names a licence of NVIDIA's own: read it before you pass the data on."""

_DECIDE_S = 20.0
"""How long the hub may take to say what a data set has."""


def fetch_dataset(repo: str = TOOLSCALE, *, revision: str | None = None) -> tuple[Path, ...]:
    """Every Parquet file of a data set on the hub, as a file here; fetched once, then read from the hub's cache.

    `HF_ENDPOINT` and `HF_TOKEN` are honoured. Raises `WorldFault` when the hub cannot be reached or refuses, and
    `BadInput` for a data set without a Parquet file.
    """
    from huggingface_hub import HfApi  # in a notebook its progress bars warn, so that only who fetches meets them

    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))
    try:
        about = api.dataset_info(repo, revision=revision, timeout=_DECIDE_S)
        tables = sorted(one.rfilename for one in about.siblings or () if one.rfilename.endswith(".parquet"))
        files = [Path(api.hf_hub_download(repo, name, revision=revision, repo_type="dataset")) for name in tables]
    except Exception as error:  # the library's many ways to say no, at any layer, all mean: not from there
        raise WorldFault(
            f"{repo} cannot be had from the model hub ({type(error).__name__}: {first_line(error)}); "
            "download its Parquet file by other means and give its path"
        ) from None
    if not files:
        raise BadInput(f"{repo} has no Parquet file on the hub; name a data set in ToolScale's form")
    return tuple(files)

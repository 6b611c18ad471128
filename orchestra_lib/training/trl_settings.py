"""Our settings in TRL's terms."""

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # both hooks are experimental, and trl is pinned

import torch
from trl import GRPOConfig

from orchestra_lib.errors import BadInput
from orchestra_lib.training.settings import Settings

_RECOMPUTING = next(
    name
    for name in ("activation_checkpointing", "gradient_checkpointing")  # transformers has renamed it
    if name in {one.name for one in fields(GRPOConfig)}
)


def trl_config(settings: Settings, folder: Path) -> Any:
    """TRL's configuration of a run. Raises `BadInput` for a `trl` key that it does not have, and for sizes that do not
    come out even over the processes."""
    grpo, world = settings.grpo, int(os.environ.get("WORLD_SIZE", "1"))
    unknown = sorted(set(settings.trl) - {one.name for one in fields(GRPOConfig)})
    if unknown:
        raise BadInput(f"trl.{unknown[0]} is no setting of TRL's GRPOConfig; remove it or mend its name")
    if grpo.prompts % world:
        raise BadInput(
            f"grpo.prompts = {grpo.prompts} over {world} processes splits a group of {grpo.rollouts}: rewards compare "
            f"whole groups; take {-(-grpo.prompts // world) * world}"
        )
    share = grpo.prompts // world * grpo.rollouts
    micro = grpo.micro_batch or share
    if share % micro:
        raise BadInput(f"grpo.micro_batch = {micro} does not divide the {share} rollouts of a process; take a divisor")
    on_cpu = not torch.cuda.is_available()
    made = {
        "output_dir": str(folder), "seed": settings.seed, "max_steps": grpo.steps, "use_cpu": on_cpu,
        "bf16": settings.policy.dtype == "bfloat16" and not on_cpu, "per_device_train_batch_size": micro,
        "gradient_accumulation_steps": share // micro, "num_generations": grpo.rollouts,
        "num_iterations": grpo.iterations, "shuffle_dataset": False, "remove_unused_columns": False,
        "learning_rate": grpo.learning_rate, "lr_scheduler_type": grpo.schedule, "warmup_steps": grpo.warmup_steps,
        "weight_decay": grpo.weight_decay, "adam_beta2": grpo.adam_beta2, "max_grad_norm": grpo.max_grad_norm,
        "temperature": grpo.temperature, "max_completion_length": grpo.max_new_tokens, "beta": grpo.kl,
        "epsilon": grpo.clip_low, "epsilon_high": grpo.clip_high, "loss_type": grpo.loss, "entropy_coef": grpo.entropy,
        _RECOMPUTING: settings.policy.recompute, "logging_steps": 1, "logging_nan_inf_filter": False,
        "disable_tqdm": True, "log_completions": False, "save_strategy": "steps",
        "save_steps": settings.checkpoint.every, "save_total_limit": settings.checkpoint.keep,
        "report_to": "none", "run_name": settings.name,  # trackio is told by the run, with what TRL does not know
        "ddp_find_unused_parameters": False, "use_vllm": settings.vllm_url is not None,
        "vllm_mode": "server", "vllm_server_base_url": settings.vllm_url,
    }  # fmt: skip
    return GRPOConfig(**{**made, **settings.trl})

"""Training an orchestrator with TRL's GRPO on the loop, the rewards and the tools of the workbench.

The only room that imports torch, transformers and trl; this file and the modules that describe what is trained
(`dialect`, `course`, `settings`, `steps`, `run_folder`, `alarms`) do without them, so that a page can read a run.
"""

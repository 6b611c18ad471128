"""The smallest scale: a Qwen3-shaped policy from scratch, of a few megabytes, on simulated experts.

What it learns is to link a user's preference to a rule of choice, and to follow that rule by reading prices, seconds
and skills, of experts that it has never seen. Everything it is trained on and measured with is simulated.
"""

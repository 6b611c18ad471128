"""Work done by many processes on one machine or many, with Ray: rollouts, evaluation, synthesis filters, grading.

The same functions as in one process, in Ray actors. Ray schedules, starts crashed actors again and repeats what they
were at; this room bounds what is under way, brings home what was played, and says in words what went wrong. `ray` is
an optional library (requirements-ray.txt) and imported when a cluster is asked for.
"""

"""The half-duplex loop of tau2-bench, played against the server: agent, user and the domain's tools take turns.

As there, the agent sees a policy, a greeting and the user's words, and either speaks or calls; the environment answers
calls, the user answers words, and success is what the database came to.
"""

import json

from domain_workbench import EMAIL
from serving import serving
from worlds import cancellation, world

from orchestra_lib.environment.arguments import json_schema
from orchestra_lib.environment.policy_text import policy_text
from orchestra_lib.environment.success import judge
from orchestra_lib.environment.user import Exchange, StatedUser
from orchestra_lib.workbench import Order

AGENT = [
    "Could you give me your e-mail address?",
    [("find_member_by_email", {"email": EMAIL})],
    [("list_hires_of_member", {"member_id": "omar_haddad_2380"}), ("get_member", {"member_id": "omar_haddad_2380"})],
    [("get_hire", {"hire_id": "H1003"}), ("get_bike", {"bike_id": "B104"})],
    "I cancel H1003 because of illness and pay back $50.00. Shall I go ahead?",
    [("cancel_hire", {"hire_id": "H1003", "reason": "illness"})],
    "Your hire is cancelled and you get $50.00 back.",
]
GREETING = "Hi! How can I help you today?"
MOST_STEPS = 30


def tools_of(domain):
    return [
        {
            "type": "function",
            "function": {"name": one.name, "description": one.description, "parameters": json_schema(one)},
        }
        for one in domain.operations
    ]


def half_duplex(client, place, assignment):
    """The loop: returns the state of the database, what the agent said, and the runs behind it."""
    state, user, exchanges, runs = place.state(), StatedUser(assignment), [], []
    messages = [
        {"role": "system", "content": policy_text(place.domain)},
        {"role": "assistant", "content": GREETING},
        {"role": "user", "content": assignment.instruction},
    ]
    for _ in range(MOST_STEPS):
        found = client.chat.completions.create(model="agent", messages=messages, tools=tools_of(place.domain))
        said, run = found.choices[0].message, found.model_extra["orchestra"]["run_id"]
        runs.append(run)
        messages.append(said.model_dump(exclude_none=True))
        for call in said.tool_calls or ():
            result = place.operations.run(state, call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": state.base.text(result)})
        if said.tool_calls:
            continue
        reply = user.answer(exchanges, said.content)
        exchanges.append(Exchange(agent=said.content, user=reply.text))
        if reply.done:
            break
        messages.append({"role": "user", "content": reply.text})
    return state, [one.agent for one in exchanges], runs


def test_a_whole_conversation_does_the_assignment_and_every_move_is_in_a_run(tmp_path):
    place, assignment = world(), cancellation()
    with serving(tmp_path, scripts={"agent": AGENT}, order=Order(tools=())) as house:
        state, said, runs = half_duplex(house.client(), place, assignment)
        kept = [house.stored(run) for run in dict.fromkeys(runs)]
    assert judge(place, assignment, state, said).success
    assert len(runs) == 7
    assert len(kept) == 3  # a run for each time that the agent spoke
    assert [run.answer for run in kept] == said
    assert [run.setting.given_turns for run in kept] == [0, 1, 5]
    calls = [name for run in kept for name, count in run.tools_used.items() for _ in range(count)]
    assert sorted(calls) == sorted(name for move in AGENT if not isinstance(move, str) for name, _ in move)
    assert all(run.bill().cost_usd == 0.0 for run in kept)

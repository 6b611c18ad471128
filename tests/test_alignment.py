"""Two runs side by side: every call once, in order, with its like."""

import time

from hypothesis import given
from hypothesis import strategies as st

from orchestra_lib.alignment import Difference, align, call_key
from orchestra_lib.tool import CallStatus, Observation, ToolCall
from orchestra_lib.trajectory import Call


def call(tool="search", text="x", result="found"):
    seen = Observation(call_id="c", status=CallStatus.OK, text=result, started_s=0.0, finished_s=1.0)
    return Call(call=ToolCall.of("c", tool, {"text": text}), observation=seen)


def kinds(a, b):
    return [(pair.a, pair.b, str(pair.difference)) for pair in align(a, b)]


CALLS = st.lists(st.builds(call, st.sampled_from("pqr"), st.sampled_from("xyz"), st.sampled_from("mn")), max_size=12)


@given(CALLS, CALLS)
def test_every_call_stands_in_one_pair_and_in_order(a, b):
    pairs = align(a, b)
    assert [pair.a for pair in pairs if pair.a is not None] == list(range(len(a)))
    assert [pair.b for pair in pairs if pair.b is not None] == list(range(len(b)))


@given(CALLS, CALLS)
def test_a_pair_is_of_one_tool_and_named_by_what_differs(a, b):
    for pair in align(a, b):
        if pair.a is None or pair.b is None:
            assert pair.difference is (Difference.ONLY_B if pair.a is None else Difference.ONLY_A)
            continue
        one, other = a[pair.a], b[pair.b]
        assert one.call.tool == other.call.tool
        assert (call_key(one) == call_key(other)) is (pair.difference is not Difference.ARGUMENTS)
        if pair.difference is Difference.SAME:
            assert one.observation == other.observation


@given(CALLS)
def test_a_run_beside_itself_is_the_same_throughout(a):
    assert {pair.difference for pair in align(a, a)} <= {Difference.SAME}


@given(CALLS, CALLS)
def test_swapping_the_sides_pairs_as_many(a, b):
    def paired(pairs):
        return sum(pair.a is not None and pair.b is not None for pair in pairs)

    assert paired(align(a, b)) == paired(align(b, a))


def test_an_inserted_call_does_not_shift_the_rest():
    a = [call("search", "one"), call("web", "two"), call("code", "r = 1 / 23"), call("coder", "?"), call("big", "a")]
    b = [call("search", "one"), call("code", "r = 1 / 24"), call("big", "a", "otherwise")]
    assert kinds(a, b) == [
        (0, 0, "same"), (1, None, "only_a"), (2, 1, "arguments"), (3, None, "only_a"), (4, 2, "result"),
    ]  # fmt: skip


def test_the_order_of_names_in_arguments_is_no_difference():
    one, other = ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert call_key(Call(call=ToolCall.of("c", "t", one))) == call_key(Call(call=ToolCall.of("d", "t", other)))


def test_of_two_calls_of_a_tool_the_more_alike_is_paired():
    a = [call("code", "print(48213 * 977)")]
    b = [call("code", "import this"), call("code", "print(48213 * 978)")]
    assert kinds(a, b) == [(None, 0, "only_b"), (0, 1, "arguments")]


def test_ten_thousand_calls_are_aligned_at_once():
    a = [call("code", str(n)) for n in range(10_000)]
    b = [call("code", str(n)) for n in range(10_000) if n % 100]
    start = time.process_time()
    pairs = align([call("web", "first"), *a], [*b, call("web", "last")])
    assert time.process_time() - start < 20
    assert sum(pair.difference is Difference.SAME for pair in pairs) == len(b)
    alike = [call("code", "x") for _ in range(5_000)]
    assert len(align([call("a"), *alike, call("b")], [call("c"), *alike])) >= 5_002

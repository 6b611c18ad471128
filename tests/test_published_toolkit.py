"""The tools of a toolkit class in a user's own checkout, written here in the shape of tau2's."""

import asyncio
import textwrap

import pytest
from playing import run

from orchestra_lib.errors import BadInput, ModelMistake
from orchestra_lib.policy.scripted import Scripted
from orchestra_lib.published.python_toolkit import load_python_toolkit
from orchestra_lib.published.statistics import CallKind
from orchestra_lib.published.task import GoldenAction
from orchestra_lib.tool import ToolKind

TOOLS = '''
from enum import Enum
from typing import Any, Dict, List
from pydantic import BaseModel

class ToolType(str, Enum):
    READ = "read"
    WRITE = "write"
    THINK = "think"
    GENERIC = "generic"

def is_tool(tool_type=ToolType.READ):
    def mark(function):
        function.__tool__ = True
        function.__tool_type__ = tool_type
        return function
    return mark

class Account(BaseModel):
    owner: str
    balance: float

class BankDB(BaseModel):
    accounts: Dict[str, Account]

class ToolKitBase:
    def __init__(self, db: Any = None):
        self.db = db

    def get_tools(self) -> Dict[str, Any]:
        return {}

class BankTools(ToolKitBase):
    db: BankDB

    def __init__(self, db: BankDB) -> None:
        super().__init__(db)

    @is_tool(ToolType.READ)
    def get_account(self, account_id: str) -> Account:
        """Look an account up.

        Args:
            account_id: The account, such as 'A1'.
        """
        if account_id not in self.db.accounts:
            raise ValueError("Account not found")
        return self.db.accounts[account_id]

    @is_tool(ToolType.WRITE)
    def transfer(self, source: str, targets: List[str], amount: float = 1.0) -> str:
        """Move money."""
        for target in targets:
            self.db.accounts[source].balance -= amount
            self.db.accounts[target].balance += amount
        return "ok"

    @is_tool(ToolType.THINK)
    def think(self, thought: str) -> str:
        """Think."""
        return ""

    def not_a_tool(self) -> None: ...

class Empty(ToolKitBase): ...

class Picky(ToolKitBase):
    def __init__(self, db: BankDB) -> None:
        raise RuntimeError("no database today")
'''
TABLES = {"accounts": {"A1": {"owner": "Ana", "balance": 10}, "A2": {"owner": "Bo", "balance": 0}}}
PAY = {"source": "A1", "targets": ["A2"], "amount": 4}


@pytest.fixture
def bank(tmp_path):
    file = tmp_path / "tools.py"
    file.write_text(TOOLS, "utf-8")
    return load_python_toolkit(f"{file}:BankTools", TABLES)


def call(toolkit, name, arguments, run_id="run-1"):
    [tool] = [tool for tool in toolkit.tools if tool.spec.name == name]
    return asyncio.run(tool.call(arguments, run_id=run_id))


def test_marked_methods_become_tools_with_their_schema(bank):
    specs = {tool.spec.name: tool.spec for tool in bank.tools}
    assert list(specs) == ["get_account", "transfer", "think"]
    assert specs["get_account"].description == "Look an account up."
    assert specs["get_account"].parameters["properties"]["account_id"]["description"] == "The account, such as 'A1'."
    assert specs["transfer"].parameters["required"] == ["source", "targets"]
    assert {spec.kind for spec in specs.values()} == {ToolKind.DOMAIN}
    assert bank.kinds == {"get_account": CallKind.READ, "transfer": CallKind.WRITE, "think": None}


def test_only_a_write_changes_the_state_and_each_run_has_its_own(bank):
    assert call(bank, "get_account", {"account_id": "A1"}).text == '{"owner":"Ana","balance":10.0}'
    assert call(bank, "transfer", PAY).text == "ok"
    read, wrote = bank.changes("run-1")
    assert (read.before, read.after, wrote.before) == (bank.initial_hash,) * 3
    assert wrote.after == bank.final_hash("run-1") != bank.initial_hash
    assert '"balance":10.0' in call(bank, "get_account", {"account_id": "A1"}, "run-2").text
    assert bank.final_hash("run-2") == bank.initial_hash


def test_mistakes_and_errors_are_told_and_recorded(bank):
    result = call(bank, "get_account", {"account_id": "A9"})
    assert result.failed
    assert "Account not found" in result.text
    with pytest.raises(ModelMistake, match="account_id"):
        call(bank, "get_account", {})
    assert [change.failed for change in bank.changes("run-1")] == [True, True]


def test_golden_calls_replay_to_the_state_that_a_run_must_reach(bank):
    golden = (GoldenAction(tool="transfer", arguments=PAY), GoldenAction(tool="dance", requestor="user"))
    [change] = asyncio.run(bank.replay(golden))
    call(bank, "transfer", {**PAY, "amount": 4.0})
    assert change.after == bank.final_hash("run-1")
    call(bank, "transfer", PAY)
    assert change.after != bank.final_hash("run-1")
    assert bank.changes("golden") == ()
    with pytest.raises(BadInput, match="dance names no tool"):
        asyncio.run(bank.replay((GoldenAction(tool="dance"),)))


def test_parallel_calls_of_a_run_take_their_turns(bank):
    [tool] = [tool for tool in bank.tools if tool.spec.name == "transfer"]

    async def many():
        await asyncio.gather(*(tool.call(PAY, run_id="run-1") for _ in range(5)))

    asyncio.run(many())
    changes = bank.changes("run-1")
    assert [change.before for change in changes[1:]] == [change.after for change in changes[:-1]]


def test_an_orchestrator_plays_in_it_and_the_state_outlives_the_run(bank):
    trajectory = run(Scripted([[("transfer", PAY)], "Done."]), bank.tools)
    assert trajectory.answer == "Done."
    assert bank.final_hash(trajectory.id) != bank.initial_hash
    bank.forget(trajectory.id)
    assert bank.final_hash(trajectory.id) == bank.initial_hash


def test_a_class_inside_a_package_imports_its_siblings(tmp_path):
    package = tmp_path / "checkout_for_a_test" / "bank"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "model.py").write_text(TOOLS, "utf-8")
    body = """
        from checkout_for_a_test.bank.model import BankDB, ToolKitBase, is_tool
        class Tools(ToolKitBase):
            db: BankDB
            @is_tool()
            def owners(self) -> list[str]:
                return [account.owner for account in self.db.accounts.values()]
    """
    (package / "tools.py").write_text(textwrap.dedent(body), "utf-8")
    toolkit = load_python_toolkit(f"{package / 'tools.py'}:Tools", TABLES)
    assert call(toolkit, "owners", {}).text == '["Ana","Bo"]'


@pytest.mark.parametrize("reference, words", [
    ("tools.py", "write path/to/tools.py:ClassName"),
    ("none.py:BankTools", "cannot read"),
    ("tools.py:Nothing", "has no class 'Nothing'; it has ToolType, Account"),
    ("tools.py:Empty", "marks no method as a tool"),
    ("tools.py:Picky", "does not take these tables (RuntimeError: no database today)"),
])  # fmt: skip
def test_what_cannot_be_used_says_why(tmp_path, reference, words):
    (tmp_path / "tools.py").write_text(TOOLS, "utf-8")
    with pytest.raises(BadInput) as caught:
        load_python_toolkit(str(tmp_path / reference), TABLES)
    assert words in str(caught.value)


def test_tables_of_another_domain_are_refused(tmp_path):
    (tmp_path / "tools.py").write_text(TOOLS, "utf-8")
    with pytest.raises(BadInput, match="BankTools does not take these tables"):
        load_python_toolkit(f"{tmp_path / 'tools.py'}:BankTools", {"users": {}})

"""Rows in ToolScale's form, and the table that the published loader's writer makes of them."""

from datetime import datetime

import pyarrow as pa


def row(task_id, calls, domain="weather"):
    """One task with these golden calls, as a dict."""
    return {
        "id": task_id,
        "description": {"purpose": "", "relevant_policies": None, "notes": None},
        "user_scenario": {
            "persona": None,
            "instructions": {
                "task_instructions": "Be brief.",
                "reason_for_call": "You plan a picnic and need the forecast.",
                "known_info": "Ana, Boston",
                "unknown_info": "",
                "domain": domain,
            },
        },
        "initial_state": None,
        "evaluation_criteria": {
            "actions": [
                {"name": name, "arguments": dict(arguments), "action_id": f"{task_id}_{at}"}
                for at, (name, arguments) in enumerate(calls)
            ],
            "communicate_info": ["30 %"],
            "nl_assertions": None,
        },
    }


def as_table(rows):
    """One struct of all arguments, nulls for what a call lacks; ISO dates become timestamps, as Arrow reads them."""
    return pa.Table.from_pylist([_timed(one) for one in rows], schema=_schema(rows))


def _timed(value, name=""):
    if isinstance(value, dict):
        return {key: _timed(part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [_timed(part) for part in value]
    return datetime.fromisoformat(value) if name in ("start_date", "end_date") and value else value


def _schema(rows):
    schema = pa.Table.from_pylist([_timed(one) for one in rows]).schema
    return pa.schema([pa.field(field.name, _in_seconds(field.type)) for field in schema])


def _in_seconds(kind):
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _in_seconds(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_in_seconds(kind.value_type))
    return pa.timestamp("s") if pa.types.is_timestamp(kind) else kind

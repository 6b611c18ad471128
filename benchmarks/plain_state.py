"""The way of tau2-bench, for comparison: every state is the whole database read anew, and hashed whole.

It runs the same operations as `orchestra_lib.environment.state.State` and shares none of its code: no overlay, no
index, no diff. So it is also an independent witness of what a state should be.
"""

import copy
import hashlib
import json

from orchestra_lib.errors import ModelMistake


class PlainState:
    """All records as plain dictionaries, changed in place."""

    def __init__(self, domain, text):
        self.data = json.loads(text)
        self.base = _Base(domain)
        self.overlay = {(table.name, ""): None for table in domain.tables}  # no table is ever an untouched one
        self.read, self.seen, self.written = set(), set(), set()
        self._new = {}
        self._touched = []

    def find(self, table, key):
        return self.data[table].get(key)

    def get(self, table, key):
        if key not in self.data[table]:
            raise ModelMistake(f"no {table} {key}")
        self.read.add((table, key))
        return self.data[table][key]

    def records(self, table):
        return list(self.data[table].values())

    def matching(self, table, field, value):
        return [one for one in self.data[table].values() if one.get(field) == value]

    def among(self, table, field, value):
        return self.records(table)  # the condition, read in full, is its own witness

    def begin(self):
        self._saved = copy.deepcopy(self.data), dict(self._new)
        self._touched = []

    def rollback(self):
        self.data, self._new = self._saved

    def changed(self):
        return self._touched

    def edit(self, table, key):
        self._touched.append((table, key))
        return self.data[table][key]

    def insert(self, table, record):
        spec = self.base.tables[table]
        if table not in self._new:
            numbers = [int(key.removeprefix(spec.prefix)) for key in self.data[table]]
            self._new[table] = max(numbers, default=0)
        self._new[table] += 1
        key = f"{spec.prefix}{self._new[table]:0{spec.digits}d}"
        self.data[table][key] = {**record, spec.key: key}
        self._touched.append((table, key))
        return self.data[table][key]

    def hash(self):
        return hashlib.sha256(json.dumps(self.data, sort_keys=True).encode()).hexdigest()


class _Base:
    """What searches ask of a base; there are no indexes."""

    def __init__(self, domain):
        self.tables = {table.name: table for table in domain.tables}

    def count(self, table, field, value):
        return 0

    def is_sorted(self, table):
        return False

    def keep(self, result):
        """Nothing is worked out once here."""

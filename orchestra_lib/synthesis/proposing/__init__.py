"""Synthesis with a language model: it proposes data in our declarative form, and nothing counts that was not executed.

A proposal is one JSON object. It is read as data, checked by the validators and filters that check our own files, and
refused with a reason that goes back to the model a few times. No proposal is ever run as code, or names a path.
"""

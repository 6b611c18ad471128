"""Replay: the real loop over recorded generations and results, which must make the same record, byte for byte."""

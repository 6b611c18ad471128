"""Evaluation: orchestrators on the tasks of a suite, run by run, and the report that follows from the stored runs.

A report holds nothing that the store does not: it is made anew from the runs of its evaluation whenever it is asked
for, so that an interrupted evaluation, one that was resumed and one that went through say the same.
"""

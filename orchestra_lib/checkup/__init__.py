"""Whether everything works that a run may need: this machine, the records, the models' servers, a cluster.

Each finding is one line with a remedy. What is looked at is looked at for real: a server is asked for its models and
for one tiny tool call, the store is opened, code is run in the sandbox. Values of keys appear nowhere.
"""

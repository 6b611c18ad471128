"""Published data as records of ours: questions and answers, ToolScale's rows, domains and tasks in tau2's form.

Everything here comes from elsewhere and is read as data: what has another form than expected is refused with the
file, the row, the key and the remedy, and a file with a bad row gives nothing.
"""

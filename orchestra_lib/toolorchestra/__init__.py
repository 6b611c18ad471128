"""Protocol `toolorchestra`: what the released Nemotron-Orchestrator-8B was trained on (arXiv 2511.21689).

For questions every turn is a fresh two-message prompt: the problem, the evidence gathered so far, and
three tools with one parameter each, the alias of an expert. The orchestrator picks (tool, alias) and never writes
a query, code or a sub-question; the expert does. For domains it is a real conversation over the domain's
functions and `call_expert`, which hands the turn to an expert.

Where the published training and evaluation code differ from each other or err, this is what holds here:

- The prompt ends in `Choose an appropriate tool.` and the system text has no trailing space; the stray quote
  of one evaluation and the misspelling of training are left out.
- Evidence is appended as in evaluation, new documents in reversed rank; training's interleaving is not done.
- One call a turn, the first valid one, as in the HLE evaluation. A call beside it is not executed.
- Truncation keeps the tail of the very text. The published cut decodes token by token, which turns characters of
  several tokens into U+FFFD, and keeps everything when nothing was to be kept.
- Only a run that ended well and printed something becomes evidence. Why others failed is in the record.
- An expert that fails is a fault on the record; a search then goes out with the question itself, as published.
  An answer that comes back empty is a failed call and not the end of the episode.
- Experts are assigned by alias and never by a part of a model's name. Each has stated budgets.
- Prices in the table are those of the run's price table; the published table is one of them. (The published code
  counts some input prices a tenth.)
- In a domain `call_expert` wins over other calls, and every expert reads the clean system prompt. Sentences
  about human agents are found by what they say and not by exact string, so that no edit turns the rule off.
"""

PROTOCOL = "toolorchestra"

"""The conductor at a service desk: an assignment in a domain, with a policy, its operations and a user to speak with.

Everything follows from the record of the run. Which operation a request is about is judged by the likeness of its
description to the user's words; identifiers come from what was said and read and from nowhere else; the small model
chooses among what is left under a schema. It looks things up freely, since that costs nothing,
and changes nothing before the user has said yes.
"""

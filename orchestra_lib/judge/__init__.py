"""Graders: what tells whether an answer solves its task. They know no store and no model but those they are handed."""

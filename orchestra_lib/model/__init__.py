"""Models behind one protocol: any OpenAI-compatible endpoint, the embedded ones, and the embedder.

The room also fetches and checks the weights that the embedded models need.
"""

"""How diagnostics are shown: `text` for people, `contract` for tools, `github` for annotations, `counting` for a sum.

Nothing is imported here, so that a run pays only for the form it prints.
"""

"""SGLang: how it spells settings, what it charges to which budget, and its own rules.

Read `launch` first (what the server will run with), then `pool` (the static budget) and `reserve`.
"""

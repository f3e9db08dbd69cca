"""Where a value comes from, and what made a line of `out/`.

`history` answers for a setting: who set it, who lost, and why. `files` answers for a line: its values are traced through the
template, `influence` says which settings and which facts of the catalogue each value depends on, and `lines` what a line
is said to be made of.
"""

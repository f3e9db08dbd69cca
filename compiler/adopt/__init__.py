"""What somebody runs already goes in: a unit, a script, a container; a profile comes out that is compiled to the same.

text -> Sheet -> Launch -> Reading -> Folded -> Adopted -> text of a profile
        unit     one       engine     settings             written, and proved
        shell
        ...

`reading` finds the launch; `shell` goes through scripts, `written` reads what they write, and `masking` keeps apart what
is not known while a text is read in another language. `choice` finds the release that reads it, `folding` turns flags
into settings, `around` all else; `adopted` is the line from a launch on, `writing` and `proof` end it. `hygiene` judges
units.
"""

"""Everything about `out/`: what stands there, what should, how the one is told from the other and made the other.

`MANIFEST` holds one line a file, `sha256  mode  path  profile`, sorted by path: what the last compile wrote. A file
that differs from its line was edited by hand; one that equals its line and not what is produced now is stale. Only a
regular file is ever read, and only its executable bit is compared beside its bytes. `out/` itself may be a symlink to
a directory; nothing below it is followed.

A write is all or nothing, as far as a file system lets it:

1. `flock` on the directory itself, so that nothing is left behind and two runs never mix.
2. Compare. A file that somebody edited, or that stands in the way and is not ours, refuses the whole run.
3. Stage. Every file that differs is written to `out/.pending/` and synced. A full disk or a lost right shows here,
   while `out/` is still as it was.
4. `out/.pending/journal` is put in its place: the lines of the manifest to come, with those of a journal that was
   already there. From here on a file may hold what MANIFEST says, or what the journal says.
5. Commit. Orphans go, staged files are renamed into place, MANIFEST last, then `.pending` is removed.

A run cut off before 4 changed nothing. One cut off after it left files that equal a line of MANIFEST or of the
journal; both count as ours, so the next run takes none for an edit, whatever its profiles are by then, and carries
all of it to the tree that is wanted now. The journal keeps the lines of older journals until a run has ended, since
two runs in a row may be cut off. A run for some profiles settles the lines of the others by what stands on the disk.

A MANIFEST with conflict markers, or broken in any other way, is read line by line. Each good line counts; what has
none is foreign and refuses as such. So nothing can be lost by trusting it, and the next write puts it right.
"""

from compiler.tree.comparing import compare
from compiler.tree.difftext import unified_diff
from compiler.tree.files import OutFile, OutTree, assemble
from compiler.tree.states import Comparison, Difference, State, Version, Written
from compiler.tree.writing import write


__all__ = [
    "Comparison",
    "Difference",
    "OutFile",
    "OutTree",
    "State",
    "Version",
    "Written",
    "assemble",
    "compare",
    "unified_diff",
    "write",
]

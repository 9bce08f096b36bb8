"""Short programs that give the numbers of a page again, for a reader's own script.

A template is a program against the public names of this package with places for
what a reader chose. `beginnings` has the lines that most begin with,
`writing.write_snippet` fills the places; the other modules hold the templates of a
page each. Text alone: nothing is run or loaded here.
"""

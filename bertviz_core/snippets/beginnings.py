"""How most programs begin: they open a model, and some send a text through it."""


def with_model(program: str, then: str = "") -> str:
    """A program of imports, a blank line and what it does with an `explorer`."""
    imports, _, rest = program.partition("\n\n")
    opened = "\n\nexplorer = Explorer.open({model})\n"
    return f"\nfrom bertviz_core import Explorer{imports}{opened}{then}{rest}"


def with_trace(program: str) -> str:
    """The same of a program that needs a `trace`, too."""
    return with_model(program, "trace = explorer.trace({text}, {pair}, cut=True)\n")


def with_gradients(program: str) -> str:
    """A program with an `explorer` that takes gradients."""
    begun = "\nfrom bertviz_core.quiet import import_keras\n\n"
    begun += 'import_keras("tensorflow")  # which has gradients\n'
    return begun + with_model(program)

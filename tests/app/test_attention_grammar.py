"""What heads find in sentences that bring their grammar."""

import itertools

import numpy as np

from bertviz_core.analysis.treebank import bundled_treebank
from bertviz_core.checkpoints.default import DEFAULT_MODEL
from bertviz_core.experiments.head_grammar import grammar_of_heads
from pages.shared.engine import client
from tests.app.test_attention import ask as opened
from tests.app.test_attention import finished

ADDRESS = {"attention_profile_where": "grammar"}


def table_of(app):
    return app.dataframe[-1].value


def give(app, conllu):
    file = ("mine.conllu", conllu.encode(), "text/plain")
    app.file_uploader[0].set_value(file).run()
    finished(app)


def test_heads_are_held_against_the_bundled_grammar():
    app = opened("profile", **ADDRESS, attention_relation="obj of")
    assert not app.error
    found = client().ask(grammar_of_heads)(DEFAULT_MODEL, "en")
    index = found.relations.index("obj of")
    layer, head = np.unravel_index(
        found.accuracies[index].argmax(), found.accuracies.shape[1:]
    )
    (told,) = [c.value for c in app.caption if c.value.startswith("Best at “obj of”")]
    assert f"head {layer + 1}·{head + 1}: right in" in told
    rows = table_of(app).to_numpy().tolist()
    assert len(rows) == found.accuracies[0].size
    (row,) = [row for row in rows if row[0] == f"{layer + 1}·{head + 1}"]
    one = found.best_relation(layer, head)
    share, rule = found.accuracies[one, layer, head], found.baselines[one]
    told = [found.relations[one], f"{share:.0%}", f"{rule:.0%}", f"{found.counts[one]}"]
    assert row[1:5] == told
    # Those that lead the most come first.
    leads = [int(row[2][:-1]) - int(row[3][:-1]) for row in rows if row[1]]
    assert all(lead >= after - 1 for lead, after in itertools.pairwise(leads))


def test_own_sentences_take_the_place_of_the_bundled_ones():
    app = opened("profile", **ADDRESS)
    mine = "\n\n".join(bundled_treebank("en").split("\n\n")[:3]) + "\n\n"
    give(app, mine)
    assert "in 3 sentences" in "".join(caption.value for caption in app.caption)
    give(app, "no treebank")
    (error,) = app.error
    assert "one line per word" in error.value

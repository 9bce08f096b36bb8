"""A chain of the masked-word page is lost only where another one is asked for."""

from __future__ import annotations

import numpy as np
from streamlit.testing.v1 import AppTest

from tests.app.real_pages import checked, finished
from tests.app.test_masked_panels import open_page, run_chain, specs
from tests.app.test_masked_word import type_text


def chain_of(app: AppTest):
    return app.session_state["masked_chain"]


def test_another_burn_in_keeps_the_chain_and_counts_other_steps():
    app = run_chain(open_page(masked_panel="gibbs", masked_gibbs_steps="21"))
    new_ids = chain_of(app).run.new_ids
    app.number_input(key="masked_gibbs_burn_in").set_value(3).run()
    run = chain_of(checked(app)).run
    np.testing.assert_array_equal(run.new_ids, new_ids)
    assert run.is_burn_in.sum() == 3
    assert specs(app)[0]["layout"]["shapes"][0]["x1"] == 3.5
    app.number_input(key="masked_gibbs_steps").set_value(30).run()
    run = run_chain(app).session_state["masked_chain"].run
    assert (run.num_steps, run.is_burn_in.sum()) == (30, 3)
    assert run.end.settings.burn_in == 3


def test_a_burn_in_that_changes_while_a_chain_runs_is_that_of_its_steps():
    app = open_page(masked_panel="gibbs", masked_gibbs_steps="30")
    app.button(key="masked_gibbs_go").click().run()
    app.number_input(key="masked_gibbs_burn_in").set_value(4).run()
    finished(checked(app))
    run = chain_of(app).run
    assert (run.num_steps, run.is_burn_in.sum()) == (30, 4)


def test_a_chain_of_masks_outlives_another_text_and_one_of_the_text_does_not():
    app = open_page(
        masked_panel="gibbs", masked_gibbs_steps="5", masked_gibbs_start="masks"
    )
    new_ids = run_chain(app).session_state["masked_chain"].run.new_ids
    type_text(app, "Quite another [MASK].")
    np.testing.assert_array_equal(chain_of(app).run.new_ids, new_ids)
    app.get_by_key("masked_gibbs_start").set_value("sentence").run()
    run_chain(app)
    type_text(app, "One more [MASK].")
    assert chain_of(app).run is None


def test_a_goal_that_changes_together_with_the_click_is_where_the_chain_ends():
    app = open_page(masked_panel="gibbs", masked_gibbs_steps="30")
    app.number_input(key="masked_gibbs_steps").set_value(12)
    assert chain_of(run_chain(app)).run.num_steps == 12

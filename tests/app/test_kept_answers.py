"""What the pages keep of the engine's answers, and for how long."""

from bertviz_core.checkpoints.default import DEFAULT_MODEL
from pages.ui import answers
from pages.ui.on_disk import ask_anew_if_changed


def test_a_model_that_changed_on_the_disk_is_asked_about_anew(client, tmp_path):
    config = tmp_path / "config.json"
    config.write_text("{}")
    asked, model = [], str(tmp_path)
    client.describe_model = lambda model: asked.append("description") or "BERT"
    client.vocabulary = lambda model: asked.append("vocabulary") or ["a"]
    client.tokenize = lambda *_: asked.append("pieces") or "a"

    def ask_all():
        asked.clear()
        ask_anew_if_changed(model)
        answers.describe_model(model)
        answers.vocabulary(model)
        answers.tokenize(model, "a text")
        return sorted(asked)

    everything = ["description", "pieces", "vocabulary"]
    assert ask_all() == everything
    assert ask_all() == []
    config.write_text('{"vocab_size": 5}')
    assert ask_all() == everything
    assert ask_all() == []
    (tmp_path / "training.log").write_text("no part of the model")
    assert ask_all() == []


def test_a_page_looks_whether_the_folder_of_its_model_has_changed(
    open_app, client, tmp_path
):
    config, model, asked = tmp_path / "config.json", str(tmp_path), []
    config.write_text("{}")
    describe = client.describe_model
    client.describe_model = lambda name: asked.append(name) or describe(DEFAULT_MODEL)
    app = open_app("models", model=model)
    app.run()
    assert not app.exception
    assert asked.count(model) == 1
    config.write_text('{"vocab_size": 5}')
    app.run()
    app.run()
    assert asked.count(model) == 2

"""What was uploaded does not stay in the memory of the pages' process."""

import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from bertviz_core.errors import CheckpointError
from bertviz_core.finetune import visitor_tables
from bertviz_core.finetune.table import Limits
from pages.shared import engine
from tests.app.fake_fine_tune import FineTuneClient


@pytest.fixture
def freed(monkeypatch):
    """The sizes of the files that Streamlit was told to forget."""
    sizes = []
    forget = MemoryUploadedFileManager.remove_file

    def remove_file(self, session_id, file_id):
        sizes.extend(len(f.data) for f in self.get_files(session_id, [file_id]))
        forget(self, session_id, file_id)
        assert not self.get_files(session_id, [file_id])

    monkeypatch.setattr(MemoryUploadedFileManager, "remove_file", remove_file)
    return sizes


@pytest.mark.parametrize("is_good", [True, False])
def test_a_models_zip_is_let_go(open_app, client, freed, is_good):
    if not is_good:
        client.broken["add_upload"] = CheckpointError("The file {name}.", name="x")
    app = open_app("models")
    app.file_uploader[0].upload("my.zip", b"PK" * 50).run()
    assert freed == []
    app.button(key="add_upload").click().run()
    assert freed == [100]
    assert len(app.error) == (not is_good)
    assert app.run().file_uploader[0].value is None


@pytest.mark.parametrize("most", [10_000, 20])
def test_a_table_is_let_go(open_app, client, monkeypatch, tmp_path, freed, most):
    fake = FineTuneClient()
    monkeypatch.setattr(engine, "_connected", lambda: fake)
    monkeypatch.setenv("BERTVIZ_CACHE", str(tmp_path))
    monkeypatch.setattr(visitor_tables, "DEFAULT_LIMITS", Limits(max_bytes=most))
    text = "text,label\n" + "good,a\nbad,b\n" * 20
    app = open_app("fine_tune")
    app.file_uploader[0].set_value(("mine.csv", text.encode(), "text/csv")).run()
    assert freed == [len(text)]
    assert bool(app.error) == (len(text) > most)
    assert app.file_uploader[0].value is None

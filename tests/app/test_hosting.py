"""What the server does for the pages."""

import logging
import socket

from streamlit.testing.v1 import AppTest

from pages.ui.hosting import send_at_once


def failing_script(template):
    import streamlit as st

    from bertviz_core.errors import TextError
    from pages.ui.hosting import show_uncaught

    error = TextError(template) if template else RuntimeError("secret of the server")
    st.session_state["handled"] = show_uncaught(error)


def run(template=""):
    app = AppTest.from_function(failing_script, args=(template,))
    return app.run(timeout=20)


def test_a_defect_in_a_callback_is_one_sentence(client, caplog):
    with caplog.at_level(logging.ERROR):
        app = run()
    assert app.session_state["handled"]
    assert "Something went wrong in this app" in app.error[0].value
    assert "secret" not in app.error[0].value
    assert "secret of the server" in caplog.text


def test_an_error_of_the_user_in_a_callback_is_its_own_sentence(client):
    app = run("There is no text to look at. Type a sentence.")
    assert app.session_state["handled"]
    assert "no text to look at" in app.error[0].value


def test_a_connection_does_not_hold_small_messages_back():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        send_at_once()
        with socket.create_connection(listening.getsockname()):
            connection, _ = listening.accept()
            with connection:
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

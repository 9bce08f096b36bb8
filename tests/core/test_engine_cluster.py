"""The engine on Dask: what is killed comes back, jobs cross over.

The tasks are small functions; `test_engine_models.py` runs the real ones.
"""

import contextlib
import itertools
import os
import signal
import socket
import tempfile
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import distributed
import psutil
import pytest

from bertviz_core.engine import connection
from bertviz_core.engine.cluster import ClusterEngine
from bertviz_core.engine.finetuned_tasks import predict_table
from bertviz_core.engine.inline import InlineEngine
from bertviz_core.engine.model_tasks import download_model
from bertviz_core.errors import EngineError, TextError
from bertviz_core.tasks import task_of
from tests.core import engine_fake_tasks as tasks
from tests.core.engine_waiting import ended, running, start, wait_until


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = str(tmp_path_factory.mktemp("temporary"))
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        engine = ClusterEngine()
        yield engine
        engine.close()


def submit(pool, engine, task, **paths):
    """Asks in a thread, with paths as texts."""
    return pool.submit(engine.ask(task), **{k: str(v) for k, v in paths.items()})


def cluster_of(engine):
    return engine._connection().cluster


def processes_of(engine):
    parent = psutil.Process(cluster_of(engine).pid)
    return [parent, *parent.children(recursive=True)]


def test_values_and_errors_of_another_process_come_as_they_were(engine):
    assert engine.ask(tasks.process_id)() != os.getpid()
    assert engine.ask(tasks.echo)(value={"a": (3, None)}) == {"a": (3, None)}
    with pytest.raises(TextError) as caught:
        engine.ask(tasks.refuse)(limit=5)
    assert caught.value.template == "No more than {limit} of them."
    assert caught.value.details == {"limit": 5}
    with pytest.raises(EngineError) as caught:
        engine.ask(tasks.break_on)(secret="hunter2")
    assert caught.value.details == {"task": "break_on", "kind": "KeyError"}


def listening(engine):
    """Hosts and ports of the cluster's processes."""
    return [
        connection.laddr
        for process in processes_of(engine)
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]


def test_the_cluster_listens_to_this_machine_only(engine):
    engine.ask(tasks.process_id)()
    assert {address.ip for address in listening(engine)} == {"127.0.0.1"}


def greeted(ports, *securities):
    """Those where Dask greets who connects with each of such certificates, or none.

    It speaks first.
    """

    def is_greeted(asked):
        security, port = asked
        with contextlib.ExitStack() as stack:
            wire = socket.create_connection(("127.0.0.1", port), timeout=2)
            stack.enter_context(wire)
            try:
                if security is not None:
                    context = security.get_connection_args("client")["ssl_context"]
                    wire = stack.enter_context(context.wrap_socket(wire))
                return bool(wire.recv(1))
            except OSError:
                return False

    asked = list(itertools.product(securities, ports))
    with ThreadPoolExecutor(len(asked)) as pool:  # where nobody greets, all wait
        found = dict(zip(asked, pool.map(is_greeted, asked), strict=True))
    return [{port for port in ports if found[one, port]} for one in securities]


def test_another_user_of_this_machine_can_talk_to_none_of_its_ports(engine):
    engine.ask(tasks.process_id)()
    ports = [address.port for address in listening(engine)]
    client, other = engine._connection().client, distributed.Security.temporary()
    own, *others = greeted(ports, client.security, None, other)
    assert len(own) == 3  # of scheduler, nanny and worker
    assert others == [set(), set()]
    for port in set(ports) - own:
        for path in ("", "status", "metrics", "json/counts.json"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=2)


def test_the_key_is_told_through_pipes_alone(engine, tmp_path):
    engine.ask(tasks.process_id)()
    secret = engine._connection().client.security.tls_client_key.splitlines()[1]
    for process in (psutil.Process(), *processes_of(engine)):
        assert secret not in " ".join([*process.cmdline(), *process.environ().values()])
    files = [path for path in Path(tempfile.gettempdir()).rglob("*") if path.is_file()]
    assert not [path for path in files if secret.encode() in path.read_bytes()]


def test_a_worker_obeys_the_policy_of_the_server_that_asks(engine, monkeypatch):
    for policy in ("listed", "any"):
        monkeypatch.setenv("BERTVIZ_MODELS", policy)
        assert engine.ask(tasks.policy)() == policy
        job = start(engine, tasks.policy)
        assert ended(engine, job).result == policy


def test_calls_that_were_answered_are_forgotten(engine):
    for value in range(130):
        engine.ask(tasks.echo)(value=value)
    client = engine._connection().client
    assert client.run_on_scheduler(tasks.num_remembered) <= 110  # Dask's history: 100
    assert max(client.run(tasks.num_remembered).values()) <= 10


def test_a_call_that_hangs_gives_its_place_back_and_its_neighbour_is_answered(
    engine, tmp_path, monkeypatch
):
    hangs, waits, gate = (tmp_path / name for name in ("hangs", "waits", "gate"))
    before = engine.ask(tasks.process_id)()
    with ThreadPoolExecutor() as pool:
        monkeypatch.setattr(connection, "CALL_SECONDS", 2.0)
        hung = submit(pool, engine, tasks.hang, started=hangs)
        wait_until(hangs.exists)
        monkeypatch.undo()
        beside = submit(pool, engine, tasks.wait_for, path=gate, started=waits)
        wait_until(waits.exists)
        with pytest.raises(EngineError, match="No answer came"):
            hung.result(30)
        wait_until(lambda: not psutil.pid_exists(before))
        gate.touch()
        assert beside.result(30) == str(gate)
        both, end = [tmp_path / "first", tmp_path / "second"], tmp_path / "end"
        calls = [
            submit(pool, engine, tasks.wait_for, path=end, started=path)
            for path in both
        ]
        wait_until(lambda: all(path.exists() for path in both))
        end.touch()
        assert {call.result(30) for call in calls} == {str(end)}


def test_a_call_that_has_waited_for_its_turn_too_long_harms_nobody(
    engine, tmp_path, monkeypatch
):
    gate, never = tmp_path / "gate", tmp_path / "never"
    began = [tmp_path / "first", tmp_path / "second"]
    before = engine.ask(tasks.process_id)()
    with ThreadPoolExecutor() as pool:
        calls = [
            submit(pool, engine, tasks.wait_for, path=gate, started=path)
            for path in began
        ]
        wait_until(lambda: all(path.exists() for path in began))
        monkeypatch.setattr(connection, "CALL_SECONDS", 0.2)
        with pytest.raises(EngineError, match="No answer came"):
            engine.ask(tasks.wait_for)(path=str(never), started=str(never))
        monkeypatch.undo()
        scheduler = engine._connection().client
        wait_until(lambda: sum(map(len, scheduler.processing().values())) == 2)
        scheduler.run(os.getpid)  # by then the worker knows that it is forgotten, too
        gate.touch()
        assert {call.result(30) for call in calls} == {str(gate)}
    assert engine.ask(tasks.process_id)() == before
    assert not never.exists()


def test_a_job_that_does_not_stop_gives_its_place_back(engine, tmp_path, monkeypatch):
    started, gate = tmp_path / "started", tmp_path / "gate"
    gate.touch()
    job = start(engine, tasks.hang_as_job, started)
    wait_until(started.exists)
    monkeypatch.setattr(connection, "CALL_SECONDS", 0.5)
    engine.cancel(job)
    waiting = start(engine, tasks.count, 2, gate)
    assert ended(engine, waiting).result == 2


def test_who_kills_the_worker_is_refused_and_the_others_get_their_answers(
    engine, tmp_path
):
    """One beside it, those that wait behind both, and a job: none of them did it."""
    trigger, gate, deaths = (tmp_path / name for name in ("now", "gate", "deaths"))
    job = start(engine, tasks.count, 2, gate)
    wait_until(lambda: running(engine, job))
    with ThreadPoolExecutor(8) as pool:
        die = tasks.die_once_there
        guilty = submit(pool, engine, die, path=trigger, deaths=deaths)
        beside = submit(pool, engine, tasks.wait_for, path=gate)
        scheduler = engine._connection().client
        wait_until(lambda: sum(map(len, scheduler.processing().values())) == 3)
        echo = engine.ask(tasks.echo)
        waiting = [pool.submit(echo, value=value) for value in range(5)]
        wait_until(lambda: sum(map(len, scheduler.processing().values())) == 8)
        trigger.touch()
        wait_until(deaths.exists)
        gate.touch()
        assert [call.result(60) for call in waiting] == list(range(5))
        assert beside.result(60) == str(gate)
        with pytest.raises(EngineError, match="crashed repeatedly"):
            guilty.result(60)
    status = ended(engine, job)
    assert (status.state, status.result) == ("done", 2)
    assert 2 <= len(deaths.read_text()) <= 3


@pytest.fixture(params=["in this process", "on a cluster"])
def any_engine(request):
    if request.param == "on a cluster":
        yield request.getfixturevalue("engine")
    else:
        engine = InlineEngine()
        yield engine
        engine.close()


def test_the_progress_and_the_error_of_a_job_cross_over(any_engine, tmp_path):
    job_id = start(any_engine, tasks.count, 3, tmp_path / "gate")
    status = wait_until(lambda: running(any_engine, job_id))
    assert status.fraction == 0.5
    so_far = {**status.so_far, "seen": list(status.so_far["seen"])}
    assert so_far == {"seen": [1, 2.5], "word": "猫"}
    (tmp_path / "gate").touch()
    status = ended(any_engine, job_id)
    assert (status.state, status.fraction, status.result) == ("done", 1.0, 3)
    status = ended(any_engine, start(any_engine, tasks.fail))
    assert status.state == "failed"
    assert isinstance(status.error, TextError)
    assert status.error.details == {"number": 3}


@pytest.mark.parametrize("task", [tasks.run_for_ever, tasks.swallow])
def test_a_cancelled_job_stops_also_where_exceptions_are_swallowed_and_the_next_runs(
    any_engine, tmp_path, task
):
    started, stopped = tmp_path / "started", tmp_path / "stopped"
    job_id = start(any_engine, task, started, stopped)
    wait_until(started.exists)
    (tmp_path / "gate").touch()
    waiting = start(any_engine, tasks.count, 5, tmp_path / "gate")
    assert any_engine.ask(tasks.echo)(value=3) == 3
    status = any_engine.job(waiting)
    assert (status.state, status.num_before) == ("waiting", 1)
    any_engine.cancel(job_id)
    assert any_engine.job(job_id).state == "cancelled"
    wait_until(stopped.exists)
    assert ended(any_engine, waiting).result == 5
    assert any_engine.job(job_id).state == "cancelled"


def test_a_job_that_waits_for_its_turn_holds_up_no_call(engine, tmp_path):
    gate = tmp_path / "gate"
    first, second = (start(engine, tasks.count, 2, gate) for _ in range(2))
    scheduler = engine._connection().client
    # Both are with the worker, which has room for one.
    wait_until(lambda: [len(keys) for keys in scheduler.processing().values()] == [2])
    assert engine.ask(tasks.echo)(value=3) == 3
    assert "waiting" in {engine.job(first).state, engine.job(second).state}
    gate.touch()
    assert [ended(engine, job).result for job in (first, second)] == [2, 2]


@pytest.mark.parametrize(
    ("takes_long", "real"),
    [(tasks.download_model, download_model), (tasks.predict_table, predict_table)],
)
def test_a_slow_line_and_a_long_table_hold_up_nobody(
    any_engine, tmp_path, takes_long, real
):
    assert task_of(takes_long) == task_of(real)
    gate, open_gate = tmp_path / "line", tmp_path / "open"
    open_gate.touch()
    slow = [start(any_engine, takes_long, gate) for _ in range(2)]
    wait_until(lambda: any(running(any_engine, job) for job in slow))
    job = start(any_engine, tasks.count, 2, open_gate)
    assert ended(any_engine, job).result == 2
    states = {any_engine.job(job).state for job in slow}
    assert states == {"running", "waiting"}
    gate.touch()
    assert [ended(any_engine, job).result for job in slow] == [str(gate)] * 2


def test_uploads_leave_both_places_to_the_questions_of_pages(engine, tmp_path):
    gate, *began = (tmp_path / name for name in ("gate", *"1234"))
    with ThreadPoolExecutor() as pool:
        uploads = [
            submit(pool, engine, tasks.add_upload, path=gate, started=path)
            for path in began[:2]
        ]
        wait_until(lambda: any(path.exists() for path in began))
        questions = [
            submit(pool, engine, tasks.wait_for, path=gate, started=path)
            for path in began[2:]
        ]
        wait_until(lambda: all(path.exists() for path in began[2:]))
        assert not all(path.exists() for path in began[:2])
        gate.touch()
        answers = {call.result(60) for call in (*uploads, *questions)}
        assert answers == {str(gate)}


def test_a_second_server_uses_the_same_cluster(engine, tmp_path, monkeypatch):
    wire = engine._connection().client
    address = wire.scheduler.address
    for name, text in (
        ("CA", wire.security.tls_ca_file),
        ("CERT", wire.security.tls_client_cert),
        ("KEY", wire.security.tls_client_key),
    ):
        (tmp_path / name).write_text(text)
        monkeypatch.setenv(f"BERTVIZ_TLS_{name}", str(tmp_path / name))
    other = ClusterEngine(address)
    try:
        assert other.ask(tasks.process_id)() == engine.ask(tasks.process_id)()
        job_id = other.start(other.ask(tasks.count).about(steps=2, gate=str(tmp_path)))
        assert ended(other, job_id).result == 2
    finally:
        other.close()
    assert engine.ask(tasks.echo)(value=5) == 5


# Dask leaves sockets open that it had no answer on.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_cluster_that_is_killed_is_noticed_and_replaced(engine, tmp_path):
    old = processes_of(engine)
    started = tmp_path / "started"
    job_id = start(engine, tasks.run_for_ever, started, tmp_path / "stopped")
    wait_until(started.exists)
    with ThreadPoolExecutor() as pool:
        waits, path = tmp_path / "waits", tmp_path / "never"
        never = submit(pool, engine, tasks.wait_for, path=path, started=waits)
        # A call that comes after the kill would be the new cluster's, and wait there.
        wait_until(waits.exists)
        assert engine.ask(tasks.echo)(value=3) == 3
        os.kill(cluster_of(engine).pid, signal.SIGKILL)
        with pytest.raises(EngineError, match="connection"):
            never.result(timeout=60)
    status = ended(engine, job_id)
    assert status.state == "failed"
    assert "connection" in str(status.error)
    _, alive = psutil.wait_procs(old, timeout=30)
    assert not alive
    assert engine.ask(tasks.echo)(value=5) == 5


def test_an_engine_that_is_closed_while_it_starts_leaves_no_process():
    before = set(psutil.Process().children(recursive=True))
    ClusterEngine().close()
    after = set(psutil.Process().children(recursive=True))
    _, alive = psutil.wait_procs(after - before, timeout=30)
    assert not alive


def test_a_cluster_that_does_not_answer_is_a_sentence(monkeypatch):
    monkeypatch.setattr("bertviz_core.engine.connection.START_SECONDS", 0.5)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
        engine = ClusterEngine(address)
        with pytest.raises(EngineError, match="does not answer") as caught:
            engine.ask(tasks.echo)(value=5)
        engine.close()
    assert caught.value.details == {"address": address}


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tls://127.0.0.1:9", "needs certificates"),
        ("tcp://192.0.2.1:8786", "does not use TLS"),
        ("192.0.2.1:8786", "does not use TLS"),
        ("tcp://scheduler.example:8786", "does not use TLS"),
        ("ws://192.0.2.1:8786", "does not use TLS"),
    ],
)
def test_a_cluster_elsewhere_is_never_asked_without_certificates(
    address, said, monkeypatch, tmp_path
):
    def connect(*_, **__):
        raise AssertionError("it was asked")

    monkeypatch.setattr(distributed, "Client", connect)
    monkeypatch.setenv("BERTVIZ_TLS_CA", str(tmp_path / "missing.pem"))
    with pytest.raises(EngineError, match=said) as caught:
        connection.Connection.to_scheduler(address)
    assert caught.value.details["address"] == address


class Scheduler:
    """Says which resources its workers take, each time something else."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def scheduler_info(self, n_workers):
        resources = self.answers.pop(0)
        return {"workers": {"one": {"resources": dict.fromkeys(resources, 1)}}}


def test_a_job_waits_for_a_worker_that_was_there_and_for_no_other(monkeypatch):
    monkeypatch.setattr("bertviz_core.engine.connection.time.sleep", lambda _: None)
    scheduler = Scheduler(["call", "job"], ["call"], ["call"], ["call", "job"])
    remote = connection.Connection(scheduler, None)
    remote._require_worker("job")
    remote._require_worker("job")  # its worker is away twice, then back
    assert not scheduler.answers

    scheduler.answers = [["call", "job"]]
    with pytest.raises(EngineError, match="kind of task"):
        remote._require_worker("train")  # at once

    monkeypatch.setattr("bertviz_core.engine.connection.START_SECONDS", 0)
    scheduler.answers = [["call"], ["call"]]
    with pytest.raises(EngineError, match="kind of task"):
        remote._require_worker("job")


def test_a_closed_engine_leaves_no_process_and_says_that_it_is_closed(engine):
    """The last to use it."""
    engine.ask(tasks.process_id)()
    processes = processes_of(engine)
    engine.close()
    engine.close()
    _, alive = psutil.wait_procs(processes, timeout=30)
    assert not alive
    with pytest.raises(EngineError, match="shutting down"):
        engine.ask(tasks.echo)(value=5)

"""What an operator is given in `deploy/`: it agrees with the code and with itself."""

import asyncio
import copy
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import dask
import pytest
import yaml
from distributed import Client, Scheduler
from distributed.security import Security

from benchmarks import stress
from benchmarks.stress_site import Site
from bertviz_core.engine.connection import Connection
from bertviz_core.engine.local_cluster import DASK_CONFIG
from bertviz_core.engine.worker_specs import environment, reading_spec, training_spec

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
SERVICES = COMPOSE["services"]
NGINX = (DEPLOY / "nginx.conf").read_text("utf-8")
WEB = [SERVICES["web-1"], SERVICES["web-2"]]
# As it stands in the file: a scheduler in this process adds to its lists.
LOCAL = copy.deepcopy(DASK_CONFIG)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A copy of the folder in which an operator has run the script, twice."""
    folder = tmp_path_factory.mktemp("prepared")
    shutil.copy(DEPLOY / "prepare.sh", folder)
    for _ in range(2):
        subprocess.run([folder / "prepare.sh"], check=True, capture_output=True)
    return folder


def security(folder, role):
    certificates = folder / "certificates" / role
    files = {"tls_ca_file": str(certificates / "ca.pem")}
    for part in ("scheduler", "worker", "client"):
        files[f"tls_{part}_cert"] = str(certificates / "cert.pem")
        files[f"tls_{part}_key"] = str(certificates / "key.pem")
    return Security(require_encryption=True, **files)


def test_every_service_of_ours_is_confined():
    ours = {
        name: service
        for name, service in SERVICES.items()
        if service["image"] == "bert-explorer"
    }
    assert len(ours) == 6
    for name, service in SERVICES.items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
    # Whoever reaches the scheduler or a worker runs code there; pages ask nobody else.
    assert [name for name in SERVICES if "outside" in SERVICES[name]["networks"]] == [
        "proxy",
        "download",
    ]
    networks = COMPOSE["networks"]
    assert [name for name in networks if not networks[name].get("internal")] == [
        "outside"
    ]


def test_the_replicas_are_the_ones_that_the_proxy_sends_to_and_share_a_secret():
    addresses = [web["networks"]["pages"]["ipv4_address"] for web in WEB]
    for name, order in (("any", 1), ("first", 1), ("second", -1)):
        upstream = re.search(rf"upstream {name} {{(.*?)}}", NGINX, re.S)[1]
        assert re.findall(r"server ([\d.]+):8501", upstream) == addresses[::order]
    for number, address in enumerate(addresses, 1):
        assert f'"~{address}:8501$" "replica={number};' in NGINX
    secrets = {web["environment"]["STREAMLIT_SERVER_COOKIE_SECRET"] for web in WEB}
    assert len(secrets) == 1
    assert "COOKIE_SECRET" in secrets.pop()


def test_the_proxy_takes_what_the_pages_take():
    most = WEB[0]["environment"]["STREAMLIT_SERVER_MAX_UPLOAD_SIZE"]
    taken = int(re.search(r"client_max_body_size (\d+)m;", NGINX)[1])
    assert most < taken < 1.1 * most


def test_the_log_of_the_proxy_holds_no_text_of_a_visitor():
    format_ = re.search(r"log_format without_query(.*?);", NGINX, re.S)[1]
    kept = set(re.findall(r"\$\w+", format_))
    assert kept.isdisjoint({"$request", "$request_uri", "$args", "$http_referer"})
    assert "access_log /dev/stdout without_query;" in NGINX
    assert "error_log /dev/stderr crit;" in NGINX


def test_the_variables_are_such_that_the_code_reads():
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    text += (DEPLOY / "Dockerfile").read_text("utf-8")
    files = [*(ROOT / "bertviz_core").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
    code = "".join(file.read_text("utf-8") for file in files)
    named = set(re.findall(r"BERTVIZ_\w+", text))
    assert len(named) >= 4
    assert {name for name in named if f'"{name}"' not in code} == set()


@pytest.mark.parametrize(
    ("name", "spec"), [("read", reading_spec()), ("train", training_spec())]
)
def test_workers_offer_what_those_of_a_laptop_offer(name, spec):
    command = SERVICES[name]["command"]
    offered = re.search('--resources "(.*?)"', command)[1]
    assert offered == " ".join(f"{k}={v}" for k, v in spec["resources"].items())
    assert f"--nthreads {spec['nthreads']} " in command


def test_a_cluster_of_ones_own_is_set_up_as_that_of_a_laptop(monkeypatch):
    # A nanny leaves its variables in the process that starts it, and variables
    # that are set stay.
    for name in [name for name in os.environ if name.startswith("MALLOC_")]:
        monkeypatch.delenv(name)
    given = list(dask.config.collect_yaml([str(DEPLOY / "dask.yaml")]))
    assert len(given) == 1
    for name, value in LOCAL.items():
        assert dask.config.get(name, config=given[0]) == value, name
    nannys = dask.config.get("distributed.nanny.pre-spawn-environ", config=given[0])
    local = environment(2)
    malloc = {name: value for name, value in local.items() if "MALLOC" in name}
    assert len(malloc) == 3
    assert {name: str(nannys[name]) for name in malloc} == malloc


def test_the_prepared_keys_are_their_owners_alone(prepared):
    keys = sorted(prepared.rglob("*key.pem"))
    assert len(keys) == 5
    secret = prepared / ".env"
    assert all(path.stat().st_mode & 0o077 == 0 for path in (*keys, secret))
    assert re.fullmatch(r"COOKIE_SECRET=\w{64}\n", secret.read_text("utf-8"))


def test_the_scheduler_takes_whom_the_certificates_name_and_nobody_else(prepared):
    async def identity(address, **options):
        async with Client(address, asynchronous=True, timeout=3, **options) as client:
            return client.scheduler_info()["type"]

    async def meet():
        own = security(prepared, "scheduler")
        async with Scheduler(
            host="127.0.0.1",
            port=0,
            protocol="tls://",
            security=own,
            dashboard_address="127.0.0.1:0",
        ) as scheduler:
            for role in ("worker", "web"):
                given = security(prepared, role)
                assert await identity(scheduler.address, security=given) == "Scheduler"
            bare = scheduler.address.replace("tls://", "tcp://")
            with pytest.raises(OSError, match=r"Timed out|reset by peer"):
                await identity(bare)

    with dask.config.set({"distributed.scheduler.http.routes": []}):
        asyncio.run(meet())


@pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")
def test_the_proxy_understands_its_configuration(prepared, tmp_path):
    site = f"{prepared}/certificates/site"
    text = NGINX.replace("/tmp/", f"{tmp_path}/").replace("/etc/nginx/site", site)
    config = tmp_path / "nginx.conf"
    config.write_text(text, "utf-8")
    checked = subprocess.run(
        ["nginx", "-t", "-c", config],
        check=False,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"]},
    )
    assert checked.returncode == 0, checked.stderr


def names_of_extensions(dask_scheduler):
    return list(dask_scheduler.extensions)


def test_what_is_deployed_loses_no_answer_as_a_worker_is_killed_and_keeps_no_call(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(stress, "THINK_SECONDS", 0.1)
    met = stress.Met()

    async def crowd(site, seconds):
        until = time.monotonic() + seconds
        visitors = [stress.Visitor(number, site.urls, met) for number in (1, 2, 9)]
        visits = [asyncio.create_task(one.visit(until)) for one in visitors]
        await asyncio.sleep(seconds / 2)
        site.kill("reader 1")
        await asyncio.gather(*visits)

    with Site(tmp_path, 1, 1, None) as site:
        asyncio.run(crowd(site, 3))
        assert {"scheduler", "reader 1", "trainer", "pages 1"} <= site.weigh().keys()
        for name, value in site.environment().items():
            monkeypatch.setenv(name, value)
        wire = Connection.to_scheduler(site.scheduler)
        kept = wire.client.run_on_scheduler(names_of_extensions)
        wire.close()
    outcomes = {outcome for _, outcome in met.outcomes}
    assert {"answered", "told"} <= outcomes <= set(stress.OUTCOMES) - {"lost"}, met.said
    assert "events" in kept  # reports of jobs need it
    assert "spans" not in kept  # 6 kB a call, for ever

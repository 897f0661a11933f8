"""The Helm chart, rendered by Helm itself: what it makes is what a cluster takes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kedge.web.settings import settings_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
CHART = ROOT / "packaging/helm/kedge"
HELM = "helm.sh/helm/v3/cmd/helm@v3.19.0"
BUILT = ROOT / ".cache/helm"


@pytest.fixture(scope="session")
def helm() -> str:
    """The program: the system's, or one that Go builds once."""
    if found := shutil.which("helm"):
        return found
    program = BUILT / "helm"
    if not program.exists():
        environment = os.environ | {"GOBIN": str(BUILT)}
        subprocess.run(["go", "install", HELM], check=True, env=environment)
    return str(program)


def _rendered(helm: str, *options: str) -> dict[str, Any]:
    """What the chart makes, by kind."""
    command = [helm, "template", "prod", str(CHART), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {each["kind"]: each for each in yaml.safe_load_all(done.stdout) if each}


def test_the_chart_has_no_fault(helm: str) -> None:
    subprocess.run([helm, "lint", "--strict", str(CHART)], check=True, stdout=subprocess.DEVNULL)


def test_one_server_keeps_its_state_on_a_volume(helm: str) -> None:
    made = _rendered(helm)
    assert set(made) == {"Secret", "PersistentVolumeClaim", "Service", "Deployment"}
    spec = made["Deployment"]["spec"]
    assert (spec["replicas"], spec["strategy"]["type"]) == (1, "Recreate")
    pod = spec["template"]["spec"]
    container = pod["containers"][0]
    assert container["args"][:3] == ["serve", "--config", "/etc/kedge/kedge.toml"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    mounts = {each["name"] for each in container["volumeMounts"]}
    assert mounts == {each["name"] for each in pod["volumes"]}
    labels = spec["template"]["metadata"]["labels"].items()
    assert made["Service"]["spec"]["selector"].items() <= labels
    assert spec["selector"]["matchLabels"].items() <= labels


def test_the_settings_of_the_chart_are_those_of_a_server(helm: str) -> None:
    import tomllib

    text = _rendered(helm)["Secret"]["stringData"]["kedge.toml"]
    settings = settings_of(tomllib.loads(text), Path("/etc/kedge"))
    assert list(settings.clusters) == ["orders"]


def test_several_servers_need_postgresql(helm: str) -> None:
    command = [helm, "template", "prod", str(CHART), "--set", "replicas=2"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "several replicas need PostgreSQL" in refused.stderr
    made = _rendered(helm, "--set", "replicas=2,database.secretName=db,persistence.enabled=false")
    container = made["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    assert "KEDGE_DATABASE" not in str(container["args"]), "arguments are seen by every process"
    assert container["env"][0]["name"] == "KEDGE_DATABASE"
    assert container["env"][0]["valueFrom"]["secretKeyRef"] == {"name": "db", "key": "url"}
    assert "PersistentVolumeClaim" not in made


def test_an_ingress_leads_to_the_service(helm: str) -> None:
    options = ["--set", "ingress.enabled=true,ingress.tlsSecretName=tls"]
    settings = '[server]\npublic_url = "https://kedge.example.com"\n'
    made = _rendered(helm, *options, "--set", f"settings={settings}")
    path = made["Ingress"]["spec"]["rules"][0]["http"]["paths"][0]
    assert path["backend"]["service"]["name"] == made["Service"]["metadata"]["name"]
    assert made["Ingress"]["spec"]["tls"][0]["secretName"] == "tls"


def test_an_ingress_with_tls_needs_the_address_of_browsers(helm: str) -> None:
    options = ["--set", "ingress.enabled=true,ingress.tlsSecretName=tls"]
    command = [helm, "template", "prod", str(CHART), *options]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert 'set public_url = "https://kedge.example.com" in [server]' in refused.stderr

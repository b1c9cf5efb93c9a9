"""Checks the manifests for Kubernetes against its schemas and its standard `restricted`, and with the image."""

import re
import tarfile
import tomllib
from collections.abc import Callable
from pathlib import Path

from checking import ROOT, Checks, run, version, want
from image import inspect
from referees import with_referees


def main() -> None:
    programs = with_referees()
    checks = Checks()
    packages = checks.twice("kubernetes")
    [layout] = checks.package("image")
    tests = {}
    for package in packages:
        folder = checks.folder / "manifests" / package.name
        with tarfile.open(package) as archive:
            archive.extractall(folder, filter="data")
        [folder] = folder.iterdir()
        has_nodes = package.name.startswith("wharf-kubernetes-nodes-")
        name = "nodes" if has_nodes else "one pod"
        tests |= {f"{name}: {what}": test for what, test in tests_of(checks, programs, folder, layout, has_nodes).items()}
    checks.finish(tests)


def tests_of(checks: Checks, programs: Path, folder: Path, layout: Path, has_nodes: bool) -> dict[str, Callable[[], None]]:
    """Of one set of manifests."""
    import yaml

    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    objects = {name: yaml.safe_load((folder / name).read_text()) for name in kustomization["resources"]}
    stateful = objects["stateful-set.yaml"]
    pod = stateful["spec"]["template"]["spec"]
    [container] = pod["containers"]
    text = objects["configuration.yaml"]["data"]["wharf.toml"]

    def named() -> None:
        files = {file.name for file in folder.glob("*.yaml")} - {"kustomization.yaml"}
        want(set(objects), files, "the files that kustomization.yaml names")
        want({each["metadata"].get("namespace", "wharf") for each in objects.values()}, {"wharf"}, "namespaces")

    def valid() -> None:
        for name in objects:
            run([programs / "kubernetes-validate", "--strict", folder / name])

    def restricted() -> None:
        for where in (pod["securityContext"], container["securityContext"]):
            want(where.get("privileged", False), False, "privileged")
        want(pod["securityContext"]["runAsNonRoot"], True, "runAsNonRoot")
        want(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"}, "seccompProfile")
        want(container["securityContext"]["allowPrivilegeEscalation"], False, "allowPrivilegeEscalation")
        want(container["securityContext"]["readOnlyRootFilesystem"], True, "readOnlyRootFilesystem")
        want(container["securityContext"]["capabilities"], {"drop": ["ALL"]}, "capabilities")
        want({key for key in pod if key.startswith("host")}, set(), "namespaces of the node")
        kinds = {kind for volume in pod["volumes"] for kind in volume} - {"name"}
        want(kinds, {"configMap", "secret", "emptyDir"}, "kinds of volumes")
        want(set(container["resources"]), {"requests", "limits"}, "resources")

    def fits_the_image() -> None:
        want(kustomization["images"][0]["newTag"], version(), "the tag")
        config = inspect(checks, layout, "--config")["config"]
        context = pod["securityContext"]
        want(config["User"], f"{context['runAsUser']}:{context['runAsGroup']}", "the user")
        want(f"{container['ports'][0]['containerPort']}/tcp" in config["ExposedPorts"], True, "the port")
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        want(mounts["state"], config["Env"][0].removeprefix("HOME="), "the folder of the state")
        environment = dict(line.split("=", 1) for line in config["Env"])
        want(environment["WHARF_CONFIG"], f"{mounts['configuration']}/wharf.toml", "the configuration")
        claims = [claim["metadata"]["name"] for claim in stateful["spec"]["volumeClaimTemplates"]]
        want(set(mounts), {volume["name"] for volume in pod["volumes"]} | set(claims), "volumes")

    def configured() -> None:
        """The program reads the configuration: `list` would name what it cannot."""
        config = checks.folder / "wharf.toml"
        token = checks.folder / "token"
        token.write_text("0123456789abcdef0123456789abcdef")
        token.chmod(0o600)
        checks.folder.chmod(0o700)
        of_files = re.sub(r'"/etc/wharf-[a-z]+/[a-z]+"', f'"{token}"', text)
        # Nothing answers there.
        of_files = of_files.replace("postgres.databases", "127.0.0.1:1")
        config.write_text(of_files)
        config.chmod(0o644)
        command = [checks.bin / "wharf-server", "list", "--config", config, checks.folder / "manifests"]
        run(command, env=checks.home("home"))

    def nodes() -> None:
        """What the manifests say of ports, names and numbers is what the configuration and the program say."""
        settings = tomllib.loads(text)
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        listening = {
            "http": settings["server"]["http"]["address"],
            "nodes": settings["server"]["http"]["nodes"]["address"],
            "metrics": settings["metrics"]["address"],
        }
        want(ports, {name: int(address.rsplit(":", 1)[1]) for name, address in listening.items()}, "ports")
        variable = settings["server"]["http"]["nodes"]["advertise"]["env"]
        values = {each["name"]: each.get("value") for each in container["env"]}
        want(values[variable], f"$(POD_IP):{ports['nodes']}", "where the others find a node")
        want(list(values).index("POD_IP") < list(values).index(variable), True, "it is set before")
        autoscaler = objects["autoscaler.yaml"]["spec"]
        target = {key: autoscaler["scaleTargetRef"][key] for key in ("apiVersion", "kind")}
        want(target, {key: stateful[key] for key in target}, "what is scaled")
        want("replicas" in stateful["spec"], False, "a number of pods beside the autoscaler's")
        metric = autoscaler["metrics"][0]["pods"]["metric"]["name"]
        documented = (ROOT / "docs/operate.md").read_text()
        want(f"`{metric}`" in documented, True, f"{metric} in docs/operate.md")
        labels = stateful["spec"]["template"]["metadata"]["labels"]
        for name in ("disruption-budget.yaml", "network-policy.yaml"):
            spec = objects[name]["spec"]
            want(spec.get("selector", spec.get("podSelector"))["matchLabels"], labels, name)
        want(stateful["spec"]["serviceName"], objects["pods-service.yaml"]["metadata"]["name"], "the pods' service")

    tests = {
        "every manifest is used": named,
        "valid by the schemas of Kubernetes": valid,
        "restricted": restricted,
        "it fits the image": fits_the_image,
        "its configuration is read": configured,
    }
    return tests | ({"its parts fit each other": nodes} if has_nodes else {})


if __name__ == "__main__":
    main()

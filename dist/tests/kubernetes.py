"""Checks what kustomize makes of the manifests against Kubernetes' schemas and its standard `restricted`, and with the image."""

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
    built = list(yaml.safe_load_all(run(["kubectl", "kustomize", folder]).stdout))
    objects = {(each["kind"], each["metadata"]["name"]): each for each in built}
    stateful = objects["StatefulSet", "wharf"]
    pod = stateful["spec"]["template"]["spec"]
    [container] = pod["containers"]
    text = objects["ConfigMap", "wharf"]["data"]["wharf.toml"]

    def named() -> None:
        files = {file.name for file in folder.glob("*.yaml")} - {"kustomization.yaml"}
        patches = [patch["path"] for patch in kustomization.get("patches", [])]
        want({*kustomization["resources"], *patches}, files, "the files that kustomization.yaml names")
        want(len(objects), len(kustomization["resources"]), "objects")
        want({each["metadata"].get("namespace", "wharf") for each in built}, {"wharf"}, "namespaces")

    def valid() -> None:
        for number, each in enumerate(built):
            file = checks.folder / f"{number}.yaml"
            file.write_text(yaml.safe_dump(each))
            run([programs / "kubernetes-validate", "--strict", file])

    def restricted() -> None:
        containers = [*pod.get("initContainers", []), container]
        for where in (pod, *containers):
            want(where["securityContext"].get("privileged", False), False, "privileged")
        want(pod["securityContext"]["runAsNonRoot"], True, "runAsNonRoot")
        want(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"}, "seccompProfile")
        for each in containers:
            want(each["securityContext"]["allowPrivilegeEscalation"], False, "allowPrivilegeEscalation")
            want(each["securityContext"]["readOnlyRootFilesystem"], True, "readOnlyRootFilesystem")
            want(each["securityContext"]["capabilities"], {"drop": ["ALL"]}, "capabilities")
            want(set(each["resources"]), {"requests", "limits"}, "resources")
        want({key for key in pod if key.startswith("host")}, set(), "namespaces of the node")
        kinds = {kind for volume in pod["volumes"] for kind in volume} - {"name"}
        want(kinds, {"configMap", "secret", "emptyDir"}, "kinds of volumes")

    def fits_the_image() -> None:
        images = {each["image"] for each in (*pod.get("initContainers", []), container)}
        want(images, {f"wharf-server:{version()}"}, "images")
        config = inspect(checks, layout, "--config")["config"]
        context = pod["securityContext"]
        want(config["User"], f"{context['runAsUser']}:{context['runAsGroup']}", "the user")
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        want(f"{ports['http']}/tcp" in config["ExposedPorts"], True, "the port")
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        want(mounts["state"], config["Env"][0].removeprefix("HOME="), "the folder of the state")
        environment = dict(line.split("=", 1) for line in config["Env"])
        want(environment["WHARF_CONFIG"], f"{mounts['configuration']}/wharf.toml", "the configuration")
        claims = [claim["metadata"]["name"] for claim in stateful["spec"]["volumeClaimTemplates"]]
        want(set(mounts), {volume["name"] for volume in pod["volumes"]} | set(claims), "volumes")

    def configuration() -> Path:
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
        return config

    def configured() -> None:
        """The program reads the configuration: `list` would name what it cannot."""
        command = [checks.bin / "wharf-server", "list", "--config", configuration(), checks.folder / "manifests"]
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
        autoscaler = objects["HorizontalPodAutoscaler", "wharf"]["spec"]
        target = {key: autoscaler["scaleTargetRef"][key] for key in ("apiVersion", "kind")}
        want(target, {key: stateful[key] for key in target}, "what is scaled")
        want("replicas" in stateful["spec"], False, "a number of pods beside the autoscaler's")
        metric = autoscaler["metrics"][0]["pods"]["metric"]["name"]
        documented = (ROOT / "docs/operate.md").read_text()
        want(f"`{metric}`" in documented, True, f"{metric} in docs/operate.md")
        labels = stateful["spec"]["template"]["metadata"]["labels"]
        for kind in ("PodDisruptionBudget", "NetworkPolicy"):
            spec = objects[kind, "wharf"]["spec"]
            want(spec.get("selector", spec.get("podSelector"))["matchLabels"], labels, kind)
        want(("Service", stateful["spec"]["serviceName"]) in objects, True, "the pods' service")

    def plugins() -> None:
        """Beside the server runs what fills its plugin folder, with the configuration that it has."""
        [sidecar] = pod["initContainers"]
        want(sidecar["restartPolicy"], "Always", "it goes on")
        [*serve, served] = container["args"]
        [*pull, pulled] = sidecar["args"]
        want((serve, pull, pulled), (["serve"], ["store", "pull", "--follow"], served), "the folder")
        probe = ["/usr/bin/wharf", "store", "pull", served]
        want(sidecar["startupProbe"]["exec"]["command"], probe, "what says that the folder has the set")
        mounts = [{mount["name"]: mount for mount in each["volumeMounts"]} for each in (sidecar, container)]
        read_only = [of.pop("plugins").get("readOnly", False) for of in mounts]
        want(read_only, [False, True], "who may write to the folder")
        want(mounts[0], mounts[1], "what both have")
        # Nothing answers there. One goes on and asks again, until it is ended.
        for words, code in ((pull, 124), (probe[1:-1], 1)):
            command = [checks.bin / "wharf-server", *words, "--config", configuration(), checks.folder]
            said = run(["timeout", "5", *command], env=checks.home("home"), code=code).stderr
            want("see that it runs there" in said, True, f"{words} asks the store: {said}")

    tests = {
        "every manifest is used": named,
        "valid by the schemas of Kubernetes": valid,
        "restricted": restricted,
        "it fits the image": fits_the_image,
        "its configuration is read": configured,
    }
    return tests | ({"its parts fit each other": nodes, "plugins come from the store": plugins} if has_nodes else {})


if __name__ == "__main__":
    main()

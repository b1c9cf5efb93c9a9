"""Checks the manifests for Kubernetes against its schemas and its standard `restricted`, and with the image."""

import tarfile

from checking import Checks, run, version, want
from image import inspect
from referees import with_referees


def main() -> None:
    programs = with_referees()
    import yaml

    checks = Checks()
    [package] = checks.twice("kubernetes")
    with tarfile.open(package) as archive:
        archive.extractall(checks.folder / "manifests", filter="data")
    [folder] = (checks.folder / "manifests").iterdir()
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    objects = {name: yaml.safe_load((folder / name).read_text()) for name in kustomization["resources"]}
    pod = objects["stateful-set.yaml"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    [layout] = checks.package("image")

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
        claims = [claim["metadata"]["name"] for claim in objects["stateful-set.yaml"]["spec"]["volumeClaimTemplates"]]
        want(set(mounts), {volume["name"] for volume in pod["volumes"]} | set(claims), "volumes")

    def configured() -> None:
        """The program reads the configuration: `doctor` would name what it cannot."""
        config = checks.folder / "wharf.toml"
        text = objects["configuration.yaml"]["data"]["wharf.toml"]
        token = checks.folder / "token"
        token.write_text("0123456789abcdef0123456789abcdef")
        token.chmod(0o600)
        checks.folder.chmod(0o700)
        config.write_text(text.replace("/etc/wharf-tokens/default", str(token)))
        config.chmod(0o644)
        run([checks.bin / "wharf-server", "list", "--config", config, checks.folder / "manifests"], env=checks.home("home"))

    checks.finish({
        "every manifest is used": named,
        "valid by the schemas of Kubernetes": valid,
        "restricted": restricted,
        "it fits the image": fits_the_image,
        "its configuration is read": configured,
    })


if __name__ == "__main__":
    main()

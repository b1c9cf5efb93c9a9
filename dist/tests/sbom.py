"""Checks the list of dependencies against the schema of CycloneDX, and the licences against that list."""

import json
from pathlib import Path

from checking import ROOT, Checks, Failed, want
from referees import with_referees


def main() -> None:
    with_referees()
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    checks = Checks()
    full, server = checks.twice("sbom")
    texts = checks.twice("third_party")

    def crates(file: Path) -> dict[str, dict]:
        return {part["purl"]: part for part in json.loads(file.read_text())["components"]}

    def valid(file: Path) -> None:
        if error := JsonStrictValidator(SchemaVersion.V1_5).validate_str(file.read_text()):
            raise Failed(str(error))

    def complete(file: Path) -> None:
        document = json.loads(file.read_text())
        known = {part["bom-ref"] for part in document["components"]}
        uses = {each["ref"]: each["dependsOn"] for each in document["dependencies"]}
        root = document["metadata"]["component"]["bom-ref"]
        reached, waiting = set(), list(uses[root])
        while waiting:
            if (ref := waiting.pop()) not in reached:
                reached.add(ref)
                waiting += uses[ref]
        want(known - reached, set(), "crates that nothing uses")
        want(len([ref for ref in known if "/wasmtime@" in ref]), 1, "the number of wasmtime's")
        want([part["purl"] for part in document["components"] if not part.get("hashes")], [], "crates without a hash")

    def different() -> None:
        all, alone = crates(full), crates(server)
        want(alone.keys() - all.keys(), set(), "crates of the server alone")
        want(any("/wit-component@" in ref for ref in all), True, "whether the full program has wit-component")
        want(any("/wit-component@" in ref for ref in alone), False, "whether the server has wit-component")

    def licences(file: Path, listed: Path) -> None:
        text = file.read_text()
        for part in crates(listed).values():
            line = f"{part['name']} {part['version']}: {part['licenses'][0]['expression']}\n"
            want(line in text, True, f"whether {line.strip()} is listed")
            # Once in the list, and at least once before a text.
            want(text.count(f"{part['name']} {part['version']}") > 1, True, f"whether {part['name']} has a text")
        want(str(Path.home()) in text or str(ROOT) in text, False, "whether folders of this machine are in it")

    for file, third in zip((full, server), texts, strict=True):
        checks.check(f"{file.name} is valid", lambda: valid(file))
        checks.check(f"{file.name} is complete", lambda: complete(file))
        checks.check(f"{third.name} has the licences", lambda: licences(third, file))
    checks.check("the server alone has fewer dependencies", different)
    checks.finish()


if __name__ == "__main__":
    main()

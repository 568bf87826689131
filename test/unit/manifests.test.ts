import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { fileShape } from "../../provider/server/config.js";
import { blocksOf, readPage } from "../support/pages.ts";

const readYaml = (path: string): Json => parse(readPage(path).text) as Json;
const readJson = (path: string): Json => JSON.parse(readPage(path).text) as Json;

type Json = { [name: string]: Json } & Json[];

/**
 * Returns a function that checks a manifest against the schema. It returns each problem as the path of a field
 * and the keyword of the rule that the field violates.
 */
function problemsBy(schema: string): (manifest: Json) => string[] {
  const ajv = new Ajv({ allErrors: true, strictTypes: false });
  const validate = ajv.compile(readJson(`test/fixtures/${schema}.schema.json`));
  return (manifest) => {
    validate(manifest);
    return (validate.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`);
  };
}

const kubernetesProblems = problemsBy("kubernetes-1.34");
const composeProblems = problemsBy("compose");
const statefulSet = (): Json => readYaml("examples/kubernetes/statefulset.yaml");
const podOf = (set: Json): Json => set["spec"]!["template"]!["spec"]!;

describe("examples/kubernetes", () => {
  it.each(readYaml("examples/kubernetes/kustomization.yaml")["resources"]!.map(String))(
    "%s matches the schema of Kubernetes",
    (file) => expect(kubernetesProblems(readYaml(`examples/kubernetes/${file}`))).toEqual([]),
  );

  it("matches the responder's configuration", () => {
    const config = fileShape.parse(readJson("examples/kubernetes/responder.json"));
    const [container] = podOf(statefulSet())["containers"]!;
    expect(container!["ports"]![0]!["containerPort"]).toBe(config.port);
    expect(container!["volumeMounts"]![0]!["mountPath"]).toBe(config.dataDir);
    expect(config.derivedFrom).toEqual({ env: container!["env"]![0]!["name"] });
  });
});

const compose = (): Json => readYaml("examples/docker-compose/compose.yaml");

describe("examples/docker-compose", () => {
  it("matches the Compose Specification", () => {
    expect(composeProblems(compose())).toEqual([]);
  });

  it("has a valid responder configuration, as does the README of examples/docker", () => {
    const { workspaces } = fileShape.parse(readJson("examples/docker-compose/responder.json"));
    expect(Object.keys(compose()["services"]!)).toContain(new URL(workspaces["acme"]!.forwardTo!).hostname);
    const [block = ""] = blocksOf(readPage("examples/docker/README.md"), "json");
    fileShape.parse(JSON.parse(block));
  });
});

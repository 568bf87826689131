import { expect, test } from "vitest";
import { resolveFleet, type FleetDefinition } from "../../../provider/fleet/definition.ts";
import { placeWorkspaces } from "../../../provider/fleet/placement.ts";
import { callWebhook, hasRandomKey } from "../../../provider/fleet/webhooks.ts";
import { failureOf } from "../client/harness.ts";
import { listOf, randomKeyWebhook } from "./harness.ts";

const API_KEY = "the-api-key-of-all";
const NAMES = ["acme", "globex", "hooli", "initech", "stark", "wayne"];

async function call(given: unknown, rotations?: string[]) {
  const workspaces = listOf(NAMES, { apiKey: API_KEY });
  const definition = { name: "test", workspaces, webhook: given as FleetDefinition["webhook"] };
  const fleet = await resolveFleet(rotations ? { ...definition, rotations } : definition);
  return callWebhook(fleet, placeWorkspaces("test", fleet.workspaces, 2));
}

const derived: FleetDefinition["webhook"] = (workspace, { rotations }) => ({
  ...randomKeyWebhook(workspace, { rotations }),
  webhookVerificationKey: { derivedFrom: "a seed", rotations: [...rotations] },
});

test("`webhook` is called for each workspace, and gets the definition's rotations", async () => {
  const webhooks = await call(derived, ["r2", "r1"]);
  expect([...webhooks.keys()].toSorted()).toEqual(NAMES);
  expect(webhooks.get("acme")).toMatchObject({
    apiKey: API_KEY,
    webhookVerificationKey: { rotations: ["r2", "r1"] },
  });
  expect(hasRandomKey(webhooks)).toBe(false);
  expect(hasRandomKey(await call(randomKeyWebhook))).toBe(true);
});

const withArguments = (more: object) => (workspace: Parameters<typeof randomKeyWebhook>[0]) => ({
  ...randomKeyWebhook(workspace, { rotations: [] }),
  ...more,
});
const withKey = (webhookVerificationKey: unknown) => withArguments({ webhookVerificationKey });

test.each([
  ["undefined", () => undefined, /it must return a plain object/],
  ["a promise", () => Promise.resolve({}), /it must return a plain object, not a promise/],
  ["a missing URL", withArguments({ webhookUrl: undefined }), /webhookUrl must be a string/],
  ["a missing key", withKey(undefined), /webhookVerificationKey must be a string/],
  ["a rotation", withKey({ rotation: "2026-12" }), /webhookVerificationKey\.rotation must not be set/],
  [
    "arguments that contain a promise",
    withKey({ derivedFrom: Promise.resolve("seed") }),
    /webhookVerificationKey must have plain values only/,
  ],
  [
    "a thrown error",
    ({ apiKey }: { apiKey?: string }) => {
      throw new Error(`no such table, asked with ${apiKey}`);
    },
    /it threw: no such table, asked with \[redacted\]/,
  ],
])("if `webhook` results in %s, the error names the workspace", async (_, given, message) => {
  const { code, message: text } = await failureOf(call(given));
  expect(code).toBe("invalid_config");
  expect(text).toMatch(message);
  expect(text).toMatch(/^webhook: for \w+, /);
  expect(text).not.toContain(API_KEY);
  // Every workspace has the same problem, but the error lists only a few of them.
  expect(text.split("\n")).toHaveLength(6);
});

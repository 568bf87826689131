import { describe, expect, test } from "vitest";
import { SEED } from "../../support/derived-keys.js";
import { API_KEY, OTHER_KEY, VERIFICATION_KEY } from "../webhook/harness.js";
import {
  clear,
  failureOf,
  isolatePlugins,
  resourceOf,
  secret,
  secretsIn,
  UNKNOWN,
  UNKNOWNS,
  webhook,
  type Failure,
  type Marked,
} from "./harness.js";

isolatePlugins();
const key = resourceOf("VerificationKey");
const responder = resourceOf("Responder");

/** A value in the place of a property name, as after a missing colon. */
const MISPLACED = "mk/misplaced-0123456789";

const ofWebhook = {
  baseUrl: "https://platform.example/acme/apichat",
  webhookUrl: "https://chat.example/hook",
  webhookVerificationKey: VERIFICATION_KEY,
  apiKey: API_KEY,
};

const reasonsOf = (failures: Failure[]): string => failures.map(({ reason }) => reason).join("\n");

describe("all problems are reported at once, without naming a secret property to the engine", () => {
  test.each([
    [
      webhook,
      { webhookURL: "x", webhookVerificationKey: 5, apiKey: "", baseUrl: "acme", onExisting: "keep" },
      [
        "no such input: webhookURL; the inputs are webhookUrl,",
        "webhookUrl: ",
        "webhookVerificationKey: ",
        "apiKey: ",
        "baseUrl: ",
        "onExisting: ",
      ],
      ["", "", "", "", "", "onExisting"],
    ],
    [
      key,
      { rotation: "", keep: -1, bytes: 8.5, initial: "***", rotations: ["a"], keeep: 1 },
      ["no such input: keeep", "rotation: ", "keep: ", "bytes: ", "initial: ", "rotations: "],
      ["", "rotation", "keep", "bytes", "", "rotations"],
    ],
    [
      responder,
      {
        workspaces: { acme: { verificationKeys: ["***"], path: "acme" } },
        port: 70_000,
        host: "a b",
        publicUrl: "x",
        dataDir: "here",
      },
      ["verificationKeys", "path", "port", "host", "publicUrl", "dataDir"],
      ["port", "host", "dataDir", ""],
    ],
  ])("%#", async (resource, news: Marked, parts: string[], properties: string[]) => {
    const { failures } = await resource.check(news);
    for (const part of parts) expect(reasonsOf(failures)).toContain(part);
    expect(new Set(failures.map(({ property }) => property))).toEqual(new Set(properties));
  });

  test("no value that the program marked as secret is shown", async () => {
    const mixedUp = {
      baseUrl: secret(API_KEY),
      webhookUrl: secret(OTHER_KEY),
      webhookVerificationKey: "https://chat.example/hook",
      onExisting: secret(API_KEY),
      [MISPLACED]: 1,
    };
    const { failures } = await webhook.check(mixedUp);
    expect(reasonsOf(failures)).toMatch(/onExisting: must be one of "fail", "replace", got "\[redacted\]"/);
    expect(failures.map(({ property }) => property)).not.toContain("onExisting");
    const workspaces = { [MISPLACED]: { [MISPLACED]: 1, verificationKeys: secret([VERIFICATION_KEY]) } };
    const more = await responder.check({ workspaces });
    expect(more.failures.length).toBeGreaterThan(0);
    expect(reasonsOf([...failures, ...more.failures])).not.toContain(MISPLACED);
  });
});

describe("unknown values of a preview pass", () => {
  test.each(UNKNOWNS)("%s", async (unknown) => {
    const names = ["baseUrl", "webhookUrl", "webhookVerificationKey", "apiKey"];
    const inputs = await webhook.checked({
      ...Object.fromEntries(names.map((name) => [name, unknown])),
      onExisting: unknown,
      preflight: unknown,
      timeouts: unknown,
    });
    expect(new Set(Object.values({ ...clear(inputs), status: UNKNOWN }))).toEqual(new Set([UNKNOWN]));
    await key.checked({ rotation: unknown, keep: unknown, bytes: unknown, initial: secret(unknown) });
    await key.checked({ derivedFrom: secret(unknown), rotations: unknown, subject: unknown });
    await key.checked({ derivedFrom: secret(SEED), rotations: [unknown] });
    const acme = { verificationKeys: unknown, path: unknown, forwardTo: unknown };
    const workspaces = { acme, other: unknown };
    await responder.checked({ workspaces, port: unknown, host: unknown, publicUrl: unknown });
    const derived = { derivedFrom: unknown, rotations: ["2026-12"] };
    const outs = await responder.checked({ workspaces: { acme: { subject: unknown } }, ...derived });
    expect(clear(outs)).toMatchObject({ workspaces: { acme: { verificationKeys: UNKNOWN } } });
  });
});

describe("the stored inputs", () => {
  test("keep the program's marks, and hide a query", async () => {
    const timeouts = { requestSeconds: secret(5), readySeconds: 5 };
    const hidden = { baseUrl: `${ofWebhook.baseUrl}?t=1`, webhookUrl: `${ofWebhook.webhookUrl}?token=1` };
    const marked = { ...ofWebhook, ...hidden, preflight: secret("off"), timeouts };
    expect(secretsIn(await webhook.checked(marked))).toEqual([
      "apiKey",
      "baseUrl",
      "preflight",
      "timeouts.requestSeconds",
      "webhookUrl",
      "webhookVerificationKey",
    ]);
  });
});

describe("hostile input", () => {
  const deep = (levels: number): Marked => (levels === 0 ? {} : { a: deep(levels - 1) });

  test.each([50, 300])("nested %i deep does not break the plugin", async (levels) => {
    const outcome = await webhook.check({ ...ofWebhook, timeouts: deep(levels) }).then(
      ({ failures }) => failures.length,
      ({ details }: { details: string }) => details.length,
    );
    expect(outcome).toBeGreaterThan(0);
    await webhook.checked(ofWebhook);
  });

  test("a call without a resource fails", async () => {
    expect((await failureOf(resourceOf("").check({}))).details).toContain("no resource");
  });
});

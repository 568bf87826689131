import { expect, test } from "vitest";
import { API_KEY, OTHER_KEY, VERIFICATION_KEY } from "../webhook/harness.js";
import {
  clear,
  failureOf,
  isolatePlugins,
  resourceOf,
  secret,
  secretsIn,
  UNKNOWN,
  webhook,
  type Failure,
} from "./harness.js";

isolatePlugins();

const ARGS = {
  baseUrl: "https://platform.example/acme/apichat",
  webhookUrl: "https://chat.example/hook",
  webhookVerificationKey: VERIFICATION_KEY,
  apiKey: API_KEY,
};

const reasonsOf = (failures: Failure[]): string => failures.map(({ reason }) => reason).join("\n");

test("reports all problems at once, and shows neither secrets nor values where a name belongs", async () => {
  /** A value that is read as an input's name, because the program contains neither the name nor the colon. */
  const misplaced = "mk/misplaced-0123456789";
  const { failures } = await webhook.check({
    baseUrl: secret(API_KEY),
    webhookUrl: secret(OTHER_KEY),
    webhookVerificationKey: 5,
    onExisting: secret(API_KEY),
    preflight: "never",
    [misplaced]: 1,
  });
  expect(failures.map(({ property, reason }) => [property, reason.split(/[:;]/, 1)[0]])).toEqual([
    ["", "no such input"],
    ["", "baseUrl"],
    ["", "webhookUrl"],
    ["", "webhookVerificationKey"],
    ["", "apiKey"],
    ["", "onExisting"],
    ["preflight", "preflight"],
  ]);
  expect(reasonsOf(failures)).toMatch(/onExisting: must be one of "fail", "replace", got "\[redacted\]"/);
  const workspaces = { [misplaced]: { [misplaced]: 1, verificationKeys: secret([VERIFICATION_KEY]) } };
  const more = await resourceOf("Responder").check({ workspaces });
  expect(more.failures.length).toBeGreaterThan(0);
  expect(reasonsOf([...failures, ...more.failures])).not.toContain(misplaced);
});

/** The engine's placeholders for an unknown text, boolean, number, list, asset, archive and object. */
test.each([
  UNKNOWN,
  "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
  "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
  "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
  "030794c1-ac77-496b-92df-f27374a8bd58",
  "e48ece36-62e2-4504-bad9-02848725956a",
  "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
])("an unknown value in a preview passes: %s", async (unknown) => {
  const inputs = await webhook.checked({ ...ARGS, webhookUrl: secret(unknown), timeouts: unknown });
  expect(clear(inputs)).toMatchObject({ webhookUrl: UNKNOWN, timeouts: UNKNOWN });
});

test("inputs that the program marks as secret are stored as secrets, and so is a URL with a query", async () => {
  const inputs = await webhook.checked({
    ...ARGS,
    baseUrl: `${ARGS.baseUrl}?t=1`,
    preflight: secret("off"),
    timeouts: { requestSeconds: secret(5), readySeconds: 5 },
  });
  const marked = ["apiKey", "baseUrl", "preflight", "timeouts.requestSeconds", "webhookVerificationKey"];
  expect(secretsIn(inputs)).toEqual(marked);
});

test("check rejects two resources with the same name and workspace, even in different components", async () => {
  const [one, two] = ["One", "Two"].map((parent) =>
    resourceOf("ApiChatWebhook", "acme", `app:index:${parent}$apichat:index`),
  );
  expect((await one?.check(ARGS))?.failures).toEqual([]);
  const reason = expect.stringContaining('"acme" and "acme" declare the same workspace') as string;
  expect((await two?.check(ARGS))?.failures).toEqual([{ property: "", reason }]);
});

test("a call without a resource fails", async () => {
  expect((await failureOf(resourceOf("").check({}))).details).toContain("no resource");
});

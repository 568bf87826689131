import { describe, expect, test } from "vitest";
import type { RecordedRequest } from "../../../provider/emulator/index.js";
import { registrationEnvelope } from "../../../schema/index.js";
import {
  addressOf,
  apiKey,
  call,
  emptyConfiguration,
  post,
  set,
  startAcme,
  startEndpoint,
  startHeldEndpoint,
  verificationKey,
} from "./harness.js";

describe("set-webhook", () => {
  test("answers the whole configuration, which get-webhook shows from then on", async () => {
    const { acme } = await startAcme();
    const { url } = await startEndpoint();
    const expected = {
      status: "ok",
      data: {
        webhook_url: url,
        webhook_verification_key: verificationKey,
        webhook_status: "verified",
        bot_url: acme.botUrl,
      },
    };
    const answer = await set(acme, url);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.json()).toEqual(expected);
    expect((await call(acme, "get-webhook")).json()).toEqual(expected);
    expect(registrationEnvelope.safeParse(answer.json()).success).toBe(true);
    expect(acme.registration).toEqual(expected.data);
  });

  test("replaces what stood there", async () => {
    const { acme } = await startAcme();
    const [first, second] = [await startEndpoint(), await startEndpoint()];
    await set(acme, first.url);
    await set(acme, second.url, "another-key");
    expect(acme.registration).toMatchObject({
      webhook_url: second.url,
      webhook_verification_key: "another-key",
    });
  });

  test("makes a handshake each time, also when nothing changes", async () => {
    const { acme } = await startAcme();
    const endpoint = await startEndpoint();
    await set(acme, endpoint.url);
    await set(acme, endpoint.url);
    expect(endpoint.received).toHaveLength(2);
    expect(new Set(acme.handshakes.map(({ challenge }) => challenge)).size).toBe(2);
  });
});

describe("delete-webhook", () => {
  test("leaves four empty strings, also for get-webhook and when repeated", async () => {
    const { acme } = await startAcme({ beforeFirstSet: "nulls" });
    await set(acme, (await startEndpoint()).url);
    const gone = { status: "ok", data: emptyConfiguration };
    expect((await call(acme, "delete-webhook")).json()).toEqual(gone);
    expect((await call(acme, "get-webhook")).json()).toEqual(gone);
    expect((await call(acme, "delete-webhook")).json()).toEqual(gone);
    expect(acme.registration).toBeUndefined();
  });

  test("keeps the bot: the same bot_url after the next set-webhook", async () => {
    const { acme } = await startAcme();
    const { url } = await startEndpoint();
    const before = acme.botUrl;
    await set(acme, url);
    await call(acme, "delete-webhook");
    expect((await set(acme, url)).json()).toMatchObject({ data: { bot_url: before } });
  });
});

describe("a request that is refused", () => {
  test("other methods get 405 with allow", async () => {
    const { acme } = await startAcme();
    for (const method of ["GET", "PUT", "DELETE", "OPTIONS"]) {
      const response = await fetch(addressOf(acme, "get-webhook"), { method });
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe("POST");
    }
  });

  test.each(["", "getWebhook", "toString", "get-webhook&action=set-webhook"])(
    "action %j gets 404",
    async (action) => {
      const { acme } = await startAcme();
      expect((await call(acme, action)).status).toBe(404);
    },
  );

  test("an address without a workspace gets 404", async () => {
    const { emulator } = await startAcme();
    for (const path of ["/globex/apichat", "/acme", "/acme/apichat/", "/"]) {
      const answer = await post(
        `${emulator.url}${path}?action=get-webhook`,
        JSON.stringify({ ChaveApi: apiKey }),
      );
      expect([path, answer.status]).toEqual([path, 404]);
    }
  });

  test.each([
    {},
    { ChaveApi: "wrong-key-98765" },
    { ChaveApi: "" },
    { ChaveApi: null },
    { ChaveApi: [apiKey] },
  ])("%j is unauthorized, and no key is echoed", async (body) => {
    const { acme } = await startAcme();
    const answer = await post(addressOf(acme, "get-webhook"), JSON.stringify(body));
    expect(answer.status).toBe(401);
    expect(answer.json()).toMatchObject({ status: "error", message: expect.stringContaining("ChaveApi") });
    expect(answer.text).not.toMatch(/wrong-key|test-api-key/);
  });

  test("a body that is no JSON gets 400, JSON that is no object 422", async () => {
    const { acme } = await startAcme();
    const address = addressOf(acme, "get-webhook");
    expect((await post(address, "")).status).toBe(400);
    expect((await post(address, `{"ChaveApi":"${apiKey}"`)).status).toBe(400);
    expect((await post(address, `ChaveApi=${apiKey}`)).status).toBe(400);
    expect((await post(address, "[]")).status).toBe(422);
    expect((await post(address, "null")).status).toBe(422);
  });

  test("a body beyond 1 MiB gets 413", async () => {
    const { acme } = await startAcme();
    expect((await call(acme, "get-webhook", { padding: "x".repeat(1024 * 1024) })).status).toBe(413);
  });

  test.each([
    ["get-webhook", { email: "a@b.example" }, "email"],
    ["delete-webhook", { webhook_url: "http://127.0.0.1:1/" }, "webhook_url"],
    ["set-webhook", { webhook_verification_key: "k-secret" }, "webhook_url"],
    ["set-webhook", { webhook_url: "http://127.0.0.1:1/" }, "webhook_verification_key"],
    ["set-webhook", { webhook_url: "k-secret", webhook_verification_key: "k-secret" }, "webhook_url"],
    [
      "set-webhook",
      { webhook_url: "http://127.0.0.1:1/", webhook_verification_key: "" },
      "webhook_verification_key",
    ],
    [
      "set-webhook",
      { webhook_url: "http://127.0.0.1:1/", webhook_verification_key: "k-secret", workspace_id: "k-secret" },
      "workspace_id",
    ],
  ])("%s with %j gets 422 that names the field and no key", async (action, fields, field) => {
    const { acme } = await startAcme();
    const answer = await call(acme, action, fields);
    expect(answer.status).toBe(422);
    expect(answer.json()).toMatchObject({ status: "error", message: expect.stringContaining(field) });
    expect(answer.text).not.toMatch(/k-secret|test-api-key/);
    expect(acme.handshakes).toEqual([]);
  });
});

describe("addresses", () => {
  test("a query of the base URL belongs to the address", async () => {
    const { acme, emulator } = await startAcme({
      workspaces: [{ name: "acme", apiKey, baseUrlQuery: "tenant=acme&region=br" }],
    });
    expect(acme.baseUrl).toBe(`${emulator.url}/acme/apichat?tenant=acme&region=br`);
    expect((await call(acme, "get-webhook")).status).toBe(200);
    const body = JSON.stringify({ ChaveApi: apiKey });
    const bare = `${emulator.url}/acme/apichat`;
    expect((await post(`${bare}?action=get-webhook`, body)).status).toBe(404);
    expect((await post(`${bare}?tenant=acme&region=us&action=get-webhook`, body)).status).toBe(404);
    expect((await post(`${bare}?action=get-webhook&region=br&tenant=acme`, body)).status).toBe(200);
  });

  test("one API key serves many workspaces, each with its own registration and bot", async () => {
    const { emulator, acme } = await startAcme();
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    const { url } = await startEndpoint();
    await set(acme, url, "key-of-acme");
    await set(globex, url, "key-of-globex");
    expect(acme.registration?.webhook_verification_key).toBe("key-of-acme");
    expect(globex.registration?.webhook_verification_key).toBe("key-of-globex");
    expect(globex.botUrl).not.toBe(acme.botUrl);
  });

  test("workspaces on one path are told apart by their API keys", async () => {
    const { emulator, acme } = await startAcme();
    const globex = emulator.addWorkspace({ name: "globex", path: "acme", apiKey: "another-api-key" });
    expect(globex.baseUrl).toBe(acme.baseUrl);
    await set(globex, (await startEndpoint()).url);
    expect(acme.registration).toBeUndefined();
    expect((await call(globex, "get-webhook")).json()).toMatchObject({ data: { bot_url: globex.botUrl } });
    expect((await post(addressOf(acme, "get-webhook"), `{"ChaveApi":"a-third-key"}`)).status).toBe(401);
  });

  test("a rotated API key works at once, the old one no longer", async () => {
    const { acme } = await startAcme();
    acme.apiKey = "rotated-api-key";
    expect((await call(acme, "get-webhook")).status).toBe(200);
    expect((await call(acme, "get-webhook", { ChaveApi: apiKey })).status).toBe(401);
  });
});

describe("calls at the same time", () => {
  test("of one workspace are served one after the other", async () => {
    const { acme } = await startAcme();
    let open = 0;
    let most = 0;
    const endpoint = await startEndpoint((request, response) => {
      open += 1;
      most = Math.max(most, open);
      setTimeout(() => {
        open -= 1;
        response.end(new URLSearchParams(request.body).get("hub_challenge"));
      }, 20);
    });
    const answers = await Promise.all(["k1", "k2", "k3", "k4"].map((key) => set(acme, endpoint.url, key)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(most).toBe(1);
  });

  test("a read waits for the handshake of a set before it", async () => {
    const { emulator, acme } = await startAcme();
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    const endpoint = await startHeldEndpoint();
    const setting = set(acme, endpoint.url);
    const finish = await endpoint.asked;
    const reading = call(acme, "get-webhook");
    await expect.poll(() => emulator.requests).toHaveLength(2);
    await call(globex, "get-webhook");
    expect(emulator.requests.map(({ status }) => status)).toEqual([undefined, undefined, 200]);
    finish();
    expect((await reading).json()).toMatchObject({ data: { webhook_url: endpoint.url } });
    expect((await setting).status).toBe(200);
  });

  test("of two workspaces do not wait for each other", async () => {
    const { emulator, acme } = await startAcme();
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    const endpoint = await startHeldEndpoint();
    const setting = set(acme, endpoint.url);
    const finish = await endpoint.asked;
    expect((await call(globex, "get-webhook")).status).toBe(200);
    finish();
    expect((await setting).status).toBe(200);
  });
});

describe("the record of requests", () => {
  test("holds what was sent, with keys as sent, and what was answered", async () => {
    const { emulator, acme } = await startAcme();
    await call(acme, "get-webhook", { ChaveApi: "wrong-key" });
    await call(acme, "set-webhook", { webhook_url: "nonsense" });
    await post(`${emulator.url}/nowhere?action=get-webhook`, "no json");
    const [{ url, sent, at } = {}] = emulator.requests as Partial<RecordedRequest>[];
    expect(emulator.requests).toMatchObject([
      { interface: "registration", workspace: "acme", action: "get-webhook", method: "POST", status: 401 },
      {
        workspace: "acme",
        action: "set-webhook",
        status: 422,
        sent: { body: JSON.stringify({ ChaveApi: apiKey, webhook_url: "nonsense" }) },
      },
      { workspace: null, action: "get-webhook", status: 404, sent: { body: "no json" } },
    ]);
    expect(JSON.parse(sent?.body ?? "")).toEqual({ ChaveApi: "wrong-key" });
    expect(url).toBe(`${emulator.url}/acme/apichat?action=get-webhook`);
    expect(sent?.headers).toHaveProperty("user-agent");
    expect(Math.abs(Date.now() - Date.parse(at ?? ""))).toBeLessThan(60_000);
  });
});

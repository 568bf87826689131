import { describe, expect, test } from "vitest";
import type { BeforeFirstSet } from "../../../provider/emulator/index.js";
import { readRegistration } from "../../../schema/index.js";
import { call, emptyConfiguration, set, startAcme, startEndpoint, verificationKey } from "./harness.js";

describe("get-webhook before the first set", () => {
  const nulls = { webhook_url: null, webhook_verification_key: null, webhook_status: null, bot_url: null };
  test.each<[BeforeFirstSet | undefined, object]>([
    [undefined, { status: "ok", data: emptyConfiguration }],
    ["empty-strings", { status: "ok", data: emptyConfiguration }],
    ["null-fields", { status: "ok", data: nulls }],
    ["nulls", { status: "ok", data: null }],
    ["missing", { status: "ok" }],
    ["empty-array", { status: "ok", data: [] }],
  ])("as %s", async (beforeFirstSet, expected) => {
    const { acme } = await startAcme({ beforeFirstSet });
    const { status, body } = await call(acme, "get-webhook");
    expect(status).toBe(200);
    expect(body).toStrictEqual(expected);
    expect(readRegistration((body as { data?: unknown }).data)).toBeUndefined();
  });

  test("as not-found, until the first set or a removal, also behind the caller's back", async () => {
    const [one, other] = [
      await startAcme({ beforeFirstSet: "not-found" }),
      await startAcme({ beforeFirstSet: "not-found" }),
    ];
    expect((await call(one.acme, "get-webhook")).status).toBe(404);
    await set(one.acme, (await startEndpoint()).url);
    expect((await call(one.acme, "get-webhook")).status).toBe(200);
    other.acme.remove();
    expect((await call(other.acme, "get-webhook")).body).toEqual({ status: "ok", data: emptyConfiguration });
  });
});

describe("maskKey", () => {
  test.each([
    [verificationKey, "ve********89"],
    ["short", "********"],
  ])("shows %s as %s in every answer, and keeps it inside", async (key, masked) => {
    const { acme } = await startAcme({ maskKey: true });
    const { url } = await startEndpoint();
    const shown = { data: { webhook_url: url, webhook_verification_key: masked } };
    expect((await set(acme, url, key)).body).toMatchObject(shown);
    expect((await call(acme, "get-webhook")).body).toMatchObject(shown);
    expect(acme.registration?.webhook_verification_key).toBe(key);
  });
});

describe("normalizeUrl", () => {
  test.each([
    ["HTTP://Chat.Acme.EXAMPLE:80/Hook/", "http://chat.acme.example/Hook"],
    ["https://chat.acme.example:443", "https://chat.acme.example"],
    ["https://chat.acme.example:8443/a/?B=C", "https://chat.acme.example:8443/a?B=C"],
  ])("shows %s as %s, and keeps it inside", async (url, shown) => {
    const { acme } = await startAcme({ normalizeUrl: true });
    acme.takeOver({ webhook_url: url, webhook_verification_key: verificationKey });
    expect((await call(acme, "get-webhook")).body).toMatchObject({ data: { webhook_url: shown } });
    expect(acme.registration?.webhook_url).toBe(url);
  });

  test("does not change where handshakes and deliveries go", async () => {
    const { acme } = await startAcme({ normalizeUrl: true });
    const { url, received } = await startEndpoint();
    await set(acme, `${url}/`);
    expect(received[0]?.path).toBe("/webhook/");
  });
});

const withStatus = (webhook_status: string) => ({ body: { data: { webhook_status } } });

describe("statusAfterSet", () => {
  test("stays until it is changed", async () => {
    const { acme } = await startAcme({ statusAfterSet: "pending" });
    expect(await set(acme, (await startEndpoint()).url)).toMatchObject(withStatus("pending"));
    expect(await call(acme, "get-webhook")).toMatchObject(withStatus("pending"));
    acme.change({ webhook_status: "verified" });
    expect(await call(acme, "get-webhook")).toMatchObject(withStatus("verified"));
  });

  test("becomes verified after verifyAfterMs", async () => {
    const { acme } = await startAcme({ statusAfterSet: "pending", verifyAfterMs: 300 });
    expect(await set(acme, (await startEndpoint()).url)).toMatchObject(withStatus("pending"));
    acme.change({ webhook_verification_key: "changed meanwhile" });
    await expect.poll(() => acme.registration?.webhook_status).toBe("verified");
    expect(await call(acme, "get-webhook")).toMatchObject(withStatus("verified"));
  });
});

import { beforeEach, describe, expect, it, vi } from "vitest";
import { createDelivery, createResponder, UnavailableError } from "../../../provider/responder/index.js";
import type { DeliveryHandler, Responder } from "../../../provider/responder/index.js";

const KEY = "key/with+signs=";
const logged = vi.spyOn(console, "error");

beforeEach(() => {
  logged.mockReset().mockImplementation(() => undefined);
});

const create = ({ onDelivery }: { onDelivery: DeliveryHandler }): Responder =>
  createResponder({ verificationKeys: KEY, onDelivery });
const delivery = (): Promise<Request> => createDelivery("text", { verificationKey: KEY });

describe("an UnavailableError of the handler", () => {
  it.each([
    [undefined, "5"],
    [0, "0"],
    [0.2, "1"],
    [90, "90"],
    [-3, "0"],
  ])("with retryAfterSeconds %j gives 503 with Retry-After %s, and no report", async (seconds, header) => {
    const onDelivery = (): void => {
      throw new UnavailableError(
        "the disk is full",
        seconds === undefined ? {} : { retryAfterSeconds: seconds },
      );
    };
    const response = await create({ onDelivery })(await delivery());
    expect(response.headers.get("retry-after")).toBe(header);
    expect(await response.clone().text()).not.toContain("disk");
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ error: { code: "unavailable" } });
    expect(logged).not.toHaveBeenCalled();
  });

  it("keeps its cause", () => {
    const cause = new Error("ENOSPC");
    expect(new UnavailableError("the disk is full", { cause }).cause).toBe(cause);
  });
});

/** A handler that leaves work behind. */
const leaving =
  (work: () => Promise<unknown>): DeliveryHandler =>
  (_delivery, { waitUntil }) =>
    waitUntil(work());

describe("waitUntil", () => {
  it("hands the work to the runtime that gives a context as its third argument", async () => {
    const kept: Promise<unknown>[] = [];
    const context = {
      waitUntil(promise: Promise<unknown>) {
        // Workers refuse a call without their object.
        if (this !== context) throw new TypeError("Illegal invocation");
        kept.push(promise);
      },
      passThroughOnException: () => undefined,
    };
    let done = false;
    const work = async (): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      done = true;
    };
    const response = await create({ onDelivery: leaving(work) })(
      await delivery(),
      { KEY: "binding" },
      context,
    );
    expect([response.status, done, kept.length]).toEqual([200, false, 1]);
    await Promise.all(kept);
    expect(done).toBe(true);
  });

  it("hands the work to an adapter's context", async () => {
    const kept: Promise<unknown>[] = [];
    const request = await delivery();
    const body = new Uint8Array(await request.clone().arrayBuffer());
    const incoming = {
      method: "POST",
      url: "/hook",
      header: (name: string) => request.headers.get(name) ?? undefined,
      headers: () => request.headers.entries(),
      readBody: () => body,
    };
    const responder = create({ onDelivery: leaving(() => Promise.resolve("done")) });
    const answer = await responder.answer(incoming, { waitUntil: (promise) => void kept.push(promise) });
    expect(answer).toEqual({ status: 200, headers: {}, body: "" });
    expect(await Promise.all(kept)).toEqual(["done"]);
  });

  it.each([
    ["without a context", []],
    ["beside what Bun and Deno give", [{ remoteAddr: { hostname: "127.0.0.1" } }]],
    ["beside nothing at all", [undefined, null]],
  ])("works %s", async (_name, runtime) => {
    const work = vi.fn<() => Promise<void>>(() => Promise.resolve());
    const response = await create({ onDelivery: leaving(work) })(await delivery(), ...runtime);
    expect(response.status).toBe(200);
    expect(work).toHaveBeenCalledOnce();
  });

  it("reports work that fails, without the keys; the delivery stays acknowledged", async () => {
    const kept: Promise<unknown>[] = [];
    const responder = create({ onDelivery: leaving(() => Promise.reject(new Error(`lost with ${KEY}`))) });
    const context = { waitUntil: (promise: Promise<unknown>) => void kept.push(promise) };
    expect((await responder(await delivery(), {}, context)).status).toBe(200);
    // What the runtime is given never rejects: Workers would report it a second time.
    await Promise.all(kept);
    expect(logged.mock.calls).toEqual([
      [expect.stringMatching(/work after the answer has failed: Error: lost/)],
    ]);
    expect(logged.mock.calls.join("")).not.toContain(KEY);
  });
});

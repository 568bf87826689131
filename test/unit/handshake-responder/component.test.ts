import * as pulumi from "@pulumi/pulumi";
import { afterAll, beforeAll, beforeEach, expect, expectTypeOf, test } from "vitest";
import { ApiChatError, HandshakeResponder, type HandshakeResponderArgs } from "../../../provider/index.js";

const KEY = "vk/acme+test=&<secret>\"ü'-0123456789";

/** The inputs of the registered resources, by type. */
const registered = new Map<string, Record<string, unknown>>();
const ADDRESS = "127.0.0.1:4567";
/** The process's id, as the engine or a user's mocks return it. */
let id = ADDRESS;

beforeAll(async () => {
  await pulumi.runtime.setMocks(
    {
      call: () => ({}),
      newResource: ({ type, inputs }) => {
        registered.set(type, inputs as Record<string, unknown>);
        return { id, state: { ...inputs, pid: 42 } as object };
      },
    },
    "project",
    "dev",
  );
});
beforeEach(() => {
  registered.clear();
  id = ADDRESS;
});
// Other files in this worker use no mocks.
afterAll(() => pulumi.runtime.resetOptions("", "", -1, "", "", false, ""));

const valueOf = <T>(output: pulumi.Output<T>): Promise<T> =>
  new Promise((resolve) => void output.apply((value) => resolve(value)));

const childInputs = (): Record<string, unknown> | undefined =>
  registered.get("pulumi-nodejs:dynamic/apichat:ResponderProcess");

test("each workspace has a URL with the port from the process's id", async () => {
  const responder = new HandshakeResponder("chat", {
    derivedFrom: pulumi.output("a-seed"),
    workspaces: {
      acme: { verificationKeys: pulumi.secret([KEY]) },
      globex: {
        verificationKeys: KEY,
        path: pulumi.output("/hooks/globex"),
        forwardTo: "http://app.internal/",
      },
    },
  });
  expectTypeOf(responder.urls).toEqualTypeOf<pulumi.Output<Record<"acme" | "globex", string>>>();
  expect(await valueOf(responder.urls)).toEqual({
    acme: "http://127.0.0.1:4567/acme",
    globex: "http://127.0.0.1:4567/hooks/globex",
  });
  expect(await valueOf(responder.urls.acme)).toBe("http://127.0.0.1:4567/acme");
  expect(await valueOf(responder.healthUrl)).toBe("http://127.0.0.1:4567/healthz");
  expect(await pulumi.isSecret(responder.urls)).toBe(false);
  expect(await valueOf(responder.port)).toBe(4567);
  expect(await valueOf(responder.pid)).toBe(42);
  // The component registers no inputs, because they would contain the keys unencrypted.
  expect(registered.get("apichat:index:HandshakeResponder")).toEqual({});
  expect(childInputs()).toMatchObject({
    name: "chat",
    instanceKey: "project/dev/chat",
    organization: "",
    derivedFrom: { value: "a-seed" },
    // The SDK marks the whole value as secret, because of the keys in it.
    workspaces: {
      value: {
        acme: { verificationKeys: [KEY] },
        globex: { path: "/hooks/globex", forwardTo: "http://app.internal/" },
      },
    },
  });
});

test("the workspaces' URLs depend on the process, so webhooks that use them are created after it", async () => {
  const { urls } = new HandshakeResponder("chat", {
    publicUrl: "https://tunnel.example",
    workspaces: { acme: { verificationKeys: KEY } },
  });
  const dependent = urls as unknown as { allResources(): Promise<Set<pulumi.Resource>> };
  const resources = await dependent.allResources();
  const urns = await Promise.all([...resources].map(({ urn }) => valueOf(urn)));
  expect(urns.join()).toContain("ResponderProcess");
});

const workspaces = { acme: { verificationKeys: KEY } };

test.each<[Omit<HandshakeResponderArgs, "workspaces">, string, string]>([
  [{ host: "chat.internal" }, "http://chat.internal:4567/acme", "http://chat.internal:4567/healthz"],
  [{ host: "::1" }, "http://[::1]:4567/acme", "http://[::1]:4567/healthz"],
  [{ host: "0.0.0.0" }, "http://127.0.0.1:4567/acme", "http://127.0.0.1:4567/healthz"],
  [{ host: "::" }, "http://[::1]:4567/acme", "http://[::1]:4567/healthz"],
  [
    { publicUrl: pulumi.output("https://tunnel.example/a") },
    "https://tunnel.example/a/acme",
    "http://127.0.0.1:4567/healthz",
  ],
])("the arguments %j determine the address in the URLs", async (more, url, healthUrl) => {
  const responder = new HandshakeResponder("chat", { workspaces, ...more });
  expect(await valueOf(responder.urls.acme)).toBe(url);
  expect(await valueOf(responder.healthUrl)).toBe(healthUrl);
});

test("an argument that resolves to undefined, as config.getSecret may, is treated as absent", async () => {
  const absent = pulumi.secret(undefined);
  const more = { derivedFrom: absent, rotations: absent, host: absent, port: absent, publicUrl: absent };
  const acme = { verificationKeys: KEY, path: absent, subject: absent, forwardTo: absent };
  const responder = new HandshakeResponder("chat", { ...more, workspaces: { acme } });
  expect(await valueOf(responder.urls)).toEqual({ acme: "http://127.0.0.1:4567/acme" });
  expect(await valueOf(responder.port)).toBe(4567);
});

test.each<[string, Partial<HandshakeResponderArgs>]>([
  ["path", { workspaces: { acme: { verificationKeys: KEY, path: pulumi.secret("/hidden") } } }],
  ["public URL", { publicUrl: pulumi.secret("https://hidden.example") }],
])("the URLs are secret if the %s is", async (_, more) => {
  const { urls } = new HandshakeResponder("chat", { workspaces, ...more });
  expect(await pulumi.isSecret(urls)).toBe(true);
});

test("if a user's mocks return an id that is not an address, the port is 0 unless the program sets one", async () => {
  id = "chat-id";
  const any = new HandshakeResponder("any", { workspaces });
  expect(await valueOf(any.urls)).toEqual({ acme: "http://127.0.0.1:0/acme" });
  expect(await valueOf(any.port)).toBe(0);
  const fixed = new HandshakeResponder("fixed", { workspaces, port: 8123 });
  expect(await valueOf(fixed.urls.acme)).toBe("http://127.0.0.1:8123/acme");
});

test.each<[unknown, string]>([
  [{ workspace: {} }, "no such argument: workspace; the arguments are workspaces, "],
  [{}, "workspaces: must be an object"],
  [{ workspaces: pulumi.output({ acme: { verificationKeys: KEY } }) }, "workspaces: must be an object"],
  [{ workspaces: { acme: KEY } }, "workspaces.acme: must be an object"],
])("the error for wrong arguments contains no key: %#", (args, reason) => {
  const make = (): unknown => new HandshakeResponder("chat", args as HandshakeResponderArgs);
  expect(make).toThrow(ApiChatError);
  expect(make).toThrow(`chat: ${reason}`);
  expect(make).not.toThrow(KEY);
});

test("a resource name that is not a valid folder name is encoded", async () => {
  const responder = new HandshakeResponder("../chat", { workspaces: {} });
  await valueOf(responder.pid);
  expect(childInputs()).toMatchObject({ instanceKey: "project/dev/..%2Fchat" });
});

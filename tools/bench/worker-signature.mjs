/** A Worker that verifies one body as often as it is asked to, on either side: `/ours?calls=100`, `/bare?calls=100`. */
import { signBody, verifySignature } from "pulumi-apichat/responder";

const encoder = new TextEncoder();
const KEY = "verification-key-of-the-benchmark-0123456789";
const body = encoder.encode("x".repeat(1024));

/** Once, and not at start: a Worker may not do this before its first request. */
async function prepare() {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(KEY), algorithm, false, ["sign", "verify"]);
  const mac = await crypto.subtle.sign("HMAC", key, body);
  const signature = await signBody(KEY, body);
  return {
    ours: () => verifySignature({ verificationKeys: KEY, body, signature }),
    bare: () => crypto.subtle.verify("HMAC", key, mac, body),
  };
}

/** @type {Awaited<ReturnType<typeof prepare>> | undefined} */
let sides;

export default {
  /** @param {Request} request */
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    sides ??= await prepare();
    const verify = pathname === "/ours" ? sides.ours : sides.bare;
    for (let left = Number(searchParams.get("calls")); left > 0; left -= 1) {
      if (!(await verify())) return new Response("not verified", { status: 500 });
    }
    return new Response("verified");
  },
};

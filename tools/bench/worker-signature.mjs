/** A Worker that verifies one body as often as it is asked to, on either side: `/ours?calls=100`, `/bare?calls=100`. */
import { signBody, verifySignature } from "pulumi-apichat/responder";

const encoder = new TextEncoder();
const KEY = "verification-key-of-the-benchmark-0123456789";
const body = encoder.encode("x".repeat(1024));

/** Once, and not at start: a Worker may not do this before its first request. */
async function prepare() {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(KEY), algorithm, false, ["verify"]);
  const signature = await signBody(KEY, body);
  return {
    ours: () => verifySignature({ verificationKeys: KEY, body, signature }),
    bare: () => crypto.subtle.verify("HMAC", key, decodeHex(signature), body),
  };
}

/** @type {Awaited<ReturnType<typeof prepare>> | undefined} */
let sides;

/** @param {string} text */
function decodeHex(text) {
  return Uint8Array.from({ length: 32 }, (_, index) =>
    Number.parseInt(text.slice(7 + index * 2, 9 + index * 2), 16),
  );
}

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

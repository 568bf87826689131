/** Measures code that needs no server: a single function, and the start of Node. */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import process from "node:process";
import { signBody, verifySignature } from "pulumi-apichat/responder";
import { clone } from "../lib/clone.ts";
import { run } from "../lib/run.ts";
import { alternate, timeOf, type Context, type Samples } from "./measure.ts";
import { VERIFICATION_KEY } from "./servers.ts";

/** The number of calls in one sample; a single call is too short to measure. */
const CALLS = 500;

/** Compares `verifySignature` with the two Node functions that it uses, for each body size. */
export async function compareSignature(context: Context): Promise<Samples> {
  const sides: Record<string, () => Promise<number>> = {};
  for (const kibibytes of [1, 64]) {
    const body = randomBytes(kibibytes * 1024);
    const signature = await signBody(VERIFICATION_KEY, body);
    const options = { verificationKeys: VERIFICATION_KEY, body, signature };
    sides[`ours${kibibytes}`] = timeCalls(() => verifySignature(options));
    sides[`bare${kibibytes}`] = timeCalls(() => verifyBare(body, signature));
  }
  return alternate(context, 51, sides);
}

const timeCalls = (verify: () => boolean | Promise<boolean>) => () =>
  timeOf(async () => {
    for (let left = CALLS; left > 0; left -= 1)
      if (!(await verify())) throw new Error("a correct signature was rejected");
  });

function verifyBare(body: Buffer, signature: string): boolean {
  const expected = `sha256=${createHmac("sha256", VERIFICATION_KEY).update(body).digest("hex")}`;
  return timingSafeEqual(Buffer.from(expected), Buffer.from(signature));
}

/** Compares how long Node runs with each of two argument lists, in milliseconds. */
export const compareNode =
  (ours: string[], bare: string[]) =>
  (context: Context): Promise<Samples> => {
    const timeNode = (args: string[]) => () =>
      timeOf(() => run(process.execPath, args, { cwd: clone, signal: context.signal }));
    return alternate(context, 25, { ours: timeNode(ours), bare: timeNode(bare) });
  };

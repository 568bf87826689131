/** Measures single functions. */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { signBody, verifySignature } from "pulumi-apichat/responder";
import { VERIFICATION_KEY } from "./child.ts";
import { rates, type Context, type Samples } from "./measure.ts";

/** The number of calls in one sample; a single call is too short to measure. */
const CALLS = 100;

/** Compares `verifySignature` with the two functions of Node that it uses, for each size of body. */
export async function verifySignatures(context: Context): Promise<Samples> {
  const sides: Record<string, () => Promise<void>> = {};
  for (const kibibytes of [1, 64]) {
    const body = randomBytes(kibibytes * 1024);
    const signature = await signBody(VERIFICATION_KEY, body);
    const options = { verificationKeys: VERIFICATION_KEY, body, signature };
    sides[`ours${kibibytes}`] = async () => {
      for (let left = CALLS; left > 0; left -= 1) requireTrue(await verifySignature(options));
    };
    sides[`bare${kibibytes}`] = async () => {
      for (let left = CALLS; left > 0; left -= 1) requireTrue(verifyBare(body, signature));
    };
  }
  return await rates(context, sides, { rounds: 51, warmUp: 5 });
}

function requireTrue(isGood: boolean): void {
  if (!isGood) throw new Error("a good signature was not verified");
}

function verifyBare(body: Buffer, signature: string): boolean {
  const expected = `sha256=${createHmac("sha256", VERIFICATION_KEY).update(body).digest("hex")}`;
  return timingSafeEqual(Buffer.from(expected), Buffer.from(signature));
}

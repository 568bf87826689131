import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SQSEvent, SQSRecord } from "aws-lambda";
import { deriveVerificationKeys, signBody } from "pulumi-apichat/responder";
import { SEED } from "../support/derived-keys.ts";
import { makeFolder } from "../support/folder.ts";
import { afterTests } from "../support/http.ts";
import type { SentRequest } from "../support/lambda-events.ts";
import type { AwsEndpoint, SentMessage } from "./aws-endpoint.ts";
import { root } from "../support/pages.ts";

export const KEYS_PARAMETER = "verification-keys-0a1b2c3";

/** The value that the example's program writes to the keys' parameter. */
export const derivation = (...rotations: string[]): string =>
  JSON.stringify({ seed: SEED, subject: "dev", rotations });

/** The key that is derived for a rotation. */
export const keyOf = async (rotation: string): Promise<string> =>
  (await deriveVerificationKeys(SEED, { subject: "dev", rotations: [rotation] }))[0] ?? "";

/** A message in PHP's JSON, with bytes that are not UTF-8: code that decodes it as text cannot restore them. */
export const BYTES = Buffer.concat([
  Buffer.from('{"conv_id":7,"text":"\\u00e9\\/ é","junk":"'),
  Buffer.from([255, 254]),
  Buffer.from('"}'),
]);

// Not a static import: the example is CommonJS and has its own tsconfig.
const bundler = (await import(
  /* @vite-ignore */ new URL("../../examples/aws/bundle.ts", import.meta.url).href
)) as { bundle: (path: string) => string };

/** The bundled source of a function, as the example's program deploys it. */
export const bundleFunction = (name: "receive" | "forward"): string => bundler.bundle(`lambda/${name}.ts`);

/** A deployed function: one instance in its own process, which is killed after the file's tests. */
export interface LambdaFunction {
  /** Returns the handler's result, or rejects with its error. Handles one call at a time, as in Lambda. */
  invoke<Result>(event: unknown): Promise<Result>;
  /** Its log. */
  output(): string;
}

/** The code of a process that receives events as JSON and calls the handler with each, as Lambda's runtime does. */
const RUNTIME = `const { handler } = require("./index.cjs");
process.on("message", ({ event }) =>
  Promise.resolve(event).then(handler).then(
    (result) => process.send({ result }),
    ({ name, message }) => process.send({ error: { name, message } }),
  ),
);`;
/** Starts a function of the example with only the modules of Lambda's runtime. */
async function startFunction(
  name: "receive" | "forward",
  environment: Record<string, string>,
): Promise<LambdaFunction> {
  const folder = await makeFolder();
  const modules = join(folder, "runtime");
  await mkdir(modules);
  await symlink(join(root, "node_modules", "@aws-sdk"), join(modules, "@aws-sdk"));
  await writeFile(join(folder, "index.cjs"), bundleFunction(name));
  await writeFile(join(folder, "runtime.cjs"), RUNTIME);
  const credentials = { AWS_ACCESS_KEY_ID: "tested", AWS_SECRET_ACCESS_KEY: "tested" };
  const child = fork(join(folder, "runtime.cjs"), {
    env: { NODE_PATH: modules, AWS_REGION: "us-east-2", ...credentials, ...environment },
    execArgv: [],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += String(chunk)));
  const ended = once(child, "exit");
  afterTests(() => child.kill("SIGKILL"));
  return {
    invoke: async <Result>(event: unknown) => {
      const answered = once(child, "message");
      child.send({ event });
      const [outcome] = (await Promise.race([answered, ended])) as [
        { result: Result; error?: Error } | number,
      ];
      if (typeof outcome !== "object") throw new Error(`the function's process exited:\n${output}`);
      if (outcome.error) throw Object.assign(new Error(), outcome.error);
      return outcome.result;
    },
    output: () => output,
  };
}

/** Starts the example's receiving function, with the environment that its program sets. */
export const startReceive = (aws: AwsEndpoint): Promise<LambdaFunction> =>
  startFunction("receive", { ...aws.environment, QUEUE_URL: aws.queueUrl("deliveries"), KEYS_PARAMETER });

/** Starts the example's forwarding function, with the environment that its program sets. */
export const startForward = (aws: AwsEndpoint, target: string): Promise<LambdaFunction> =>
  startFunction("forward", {
    ...aws.environment,
    FORWARD_TO: target,
    QUEUE_URL: aws.queueUrl("deliveries"),
    DEAD_LETTER_QUEUE_URL: aws.queueUrl("dead-letters"),
  });

/** A delivery as the service sends it. */
export async function signDelivery(body: string | Uint8Array, key: string): Promise<SentRequest> {
  const headers = [
    ["X-Hub-Signature-256", await signBody(key, body)],
    ["Content-Type", "application/json"],
    ["x-flow-ns", "f1"],
    ["x-action", "messages"],
  ] as const;
  return { body, headers };
}

/** The event in which Lambda passes a queue's messages; only the fields that the function reads. */
export const toSqsEvent = (messages: readonly SentMessage[], receiveCount = 1): SQSEvent => ({
  Records: messages.map(({ MessageBody, MessageGroupId, MessageDeduplicationId }, index) => {
    const attributes = {
      ApproximateReceiveCount: String(receiveCount),
      MessageGroupId,
      MessageDeduplicationId,
    };
    const receiptHandle = `receipt-${index}`;
    return { messageId: `message-${index}`, receiptHandle, body: MessageBody, attributes } as SQSRecord;
  }),
});

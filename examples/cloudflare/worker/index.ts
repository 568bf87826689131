import { createResponder, UnavailableError } from "pulumi-apichat/responder";
import { findWorkspace, keysOf, type Env } from "./environment";
import { forward, replay } from "./forward";
import { BODY_LIMIT_BYTES, writeLetter, type Letter } from "./letter";

export default {
  /** The path of a workspace's webhook URL is `/<name>`. A delivery is acknowledged once it is in the queue. */
  async fetch(request, env) {
    const name = new URL(request.url).pathname.slice(1);
    if (findWorkspace(env, name) === undefined)
      return Response.json({ error: NO_WORKSPACE }, { status: 404 });
    const respond = createResponder({
      verificationKeys: () => keysOf(env, name),
      bodyLimitBytes: BODY_LIMIT_BYTES,
      onDelivery: ({ rawBody }, context) => enqueue(writeLetter(name, context.request, rawBody), env),
    });
    return respond(request);
  },

  async queue(batch, env) {
    const handle = batch.queue === env.DEAD_LETTER_QUEUE ? replay : forward;
    await Promise.all(batch.messages.map((message) => handle(message, env)));
  },
} satisfies ExportedHandler<Env, Letter>;

const NO_WORKSPACE = { code: "not_found", message: "no workspace has this path" };

async function enqueue(letter: Letter, env: Env): Promise<void> {
  try {
    await env.DELIVERIES.send(letter, { contentType: "json" });
  } catch (error) {
    console.error(`${letter.workspace}: the queue did not accept a delivery: ${String(error)}`);
    throw new UnavailableError("the queue did not accept it", { retryAfterSeconds: 30, cause: error });
  }
}

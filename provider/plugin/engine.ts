import { AsyncLocalStorage } from "node:async_hooks";
import { credentials } from "@grpc/grpc-js";
import services from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import messages from "@pulumi/pulumi/proto/engine_pb.js";
import type { LineKind } from "../lib/progress.js";
import type { Redact } from "../lib/redact.js";

const { INFO, WARNING } = messages.LogSeverity;

/** Sends log lines to the engine, which shows each one under the resource that it is about. */
export class EngineClient {
  #client: InstanceType<typeof services.EngineClient> | undefined;
  #address: string | undefined;
  readonly #requests = new AsyncLocalStorage<{ urn: string; redact: Redact }>();
  readonly #unsent = new Set<Promise<void>>();

  /** Without an address, lines are dropped until {@link attach}. */
  constructor(address: string | undefined) {
    this.#address = address;
    this.#client = address === undefined ? undefined : connect(address);
  }

  get address(): string | undefined {
    return this.#address;
  }

  /** Switches to another engine. A plugin that was started for debugging is attached to the engine of each run. */
  attach(address: string): void {
    this.#client?.close();
    this.#address = address;
    this.#client = connect(address);
  }

  /** Runs a request. Its log lines pass through `redact`; when this settles, the engine has received them. */
  async serve<T>(urn: string, redact: Redact, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#requests.run({ urn, redact }, work);
    } finally {
      await Promise.all(this.#unsent);
    }
  }

  /** Shows a line under the resource that is being served. Progress is shown only until the next line. */
  log(kind: LineKind, text: string): void {
    const client = this.#client;
    if (client === undefined) return;
    const { urn = "", redact = String } = this.#requests.getStore() ?? {};
    const request = new messages.LogRequest()
      .setUrn(urn)
      .setSeverity(kind === "warning" ? WARNING : INFO)
      .setEphemeral(kind === "progress")
      .setMessage(redact(text));
    const sent = new Promise<void>((resolve) => {
      // A failure means that the engine has exited, so nobody reads the line.
      client.log(request, () => resolve());
    });
    this.#unsent.add(sent);
    void sent.then(() => this.#unsent.delete(sent));
  }
}

const connect = (address: string): InstanceType<typeof services.EngineClient> =>
  new services.EngineClient(address, credentials.createInsecure());

import type { Scope } from "./data.js";
import { EXCHANGE_KINDS, type ExchangeId } from "./wire.js";

/** Reads what is chosen from the fragment of the address, so that a reload or a link shows the same. */
export function readAddress(fragment: string): [Scope, ExchangeId | null] {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ""));
  const kind = EXCHANGE_KINDS.find((name) => parameters.has(name));
  return [
    { workspace: parameters.get("workspace"), conversation: parameters.get("conversation") },
    kind === undefined ? null : { kind, id: parameters.get(kind) ?? "" },
  ];
}

/** The address of the page at what is chosen. */
export function addressOf({ workspace, conversation }: Scope, exchange: ExchangeId | null = null): string {
  const parameters = new URLSearchParams();
  if (workspace !== null) parameters.set("workspace", workspace);
  if (conversation !== null) parameters.set("conversation", conversation);
  if (exchange !== null) parameters.set(exchange.kind, exchange.id);
  return new URL(`#${parameters}`, location.href).href;
}

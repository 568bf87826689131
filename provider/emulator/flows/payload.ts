import type { InboundMessage } from "../../../schema/index.js";

/** The payload of the button that was pressed; undefined if none was. */
export function payloadOf(message: InboundMessage): string | undefined {
  return "submitted_values" in message ? message.submitted_values[0].payload : undefined;
}

import * as z from "zod";

/** The zod schema for {@link HandshakeParameters}. */
export const handshakeParameters = z.object({
  /** Always `subscribe`. */
  hub_mode: z.literal("subscribe"),
  /**
   * The `webhook_verification_key` of the set-webhook call in progress. Secret.
   * @minLength 1
   */
  hub_verify_token: z.string().min(1),
  /**
   * A random string, new in each handshake. The response's body must be this value.
   * @minLength 1
   */
  hub_challenge: z.string().min(1),
});

/**
 * The parameters of the verification handshake (section 6.1). The specification does not say whether they are
 * sent as a form, JSON, a multipart form or a query. Parameters other than these three are dropped.
 */
export interface HandshakeParameters extends z.infer<typeof handshakeParameters> {}

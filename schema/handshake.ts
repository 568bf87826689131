import * as z from "zod";

/** zod schema of {@link HandshakeParameters}. */
export const handshakeParameters = z.object({
  /** Always `subscribe`. */
  hub_mode: z.literal("subscribe"),
  /**
   * The `webhook_verification_key` of the set-webhook under way. Secret.
   * @minLength 1
   */
  hub_verify_token: z.string().min(1),
  /**
   * A random string, new in each handshake. The answer's body is this value.
   * @minLength 1
   */
  hub_challenge: z.string().min(1),
});

/**
 * The parameters of the verification handshake (section 6.1). Whether they travel as a form, as JSON or in the query is
 * not in the specification. Other parameters are dropped.
 */
export interface HandshakeParameters extends z.infer<typeof handshakeParameters> {}

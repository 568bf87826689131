/** One call that asks for a place. No secret is in it. */
export interface GatedCall {
  /** Origin of the service, such as `https://platform.example`. */
  origin: string;
  /** The operation's name, such as `get-webhook`. */
  operation: string;
}

/** An answer with HTTP 429. */
export interface Answer429 {
  /** How long the service asked to wait, in milliseconds; 0 if it did not say. */
  pauseMs: number;
}

/** A place that a call holds while it is under way. */
export interface CallPlace {
  /** Gives the place back, and tells if the call was answered with HTTP 429. Only the first time counts. */
  leave(answer429?: Answer429): void;
}

/** Lets a bounded number of calls through to each origin, over several clients or processes. */
export interface SharedGate {
  /**
   * Waits for a place. Rejects with the signal's reason if that fires first, and with a CallRefusedError if no further call
   * may be sent.
   */
  enter(call: GatedCall, signal?: AbortSignal): Promise<CallPlace>;
}

/** No further call may be sent. The message says why, and what to do. */
export class CallRefusedError extends Error {
  override readonly name = "CallRefusedError";
}

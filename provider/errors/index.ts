import type { ApiChatErrorCode, ApiChatOperation, Facts, Failure, FieldProblem, Hint } from "./failure.js";
import type { HandshakeTranscript } from "./handshake.js";
import { renderFailure } from "./render.js";

export type { ApiChatErrorCode, ApiChatOperation, Facts, Failure, FieldProblem, Hint } from "./failure.js";
export type {
  HandshakeCause,
  HandshakeEncoding,
  HandshakeRecord,
  HandshakeRule,
  HandshakeStep,
  HandshakeTranscript,
} from "./handshake.js";
export { fieldName, removalCommand, renderFailure, renderProblem, type Audience } from "./render.js";

/** All of a {@link Failure} but its code and summary; only the operation is required. */
export type ApiChatErrorDetails = { [Key in keyof FailureDetails]?: FailureDetails[Key] | undefined } & {
  operation: ApiChatOperation;
  cause?: unknown;
};

type FailureDetails = Omit<Failure, "code" | "summary">;

/**
 * Every failure that this package reports on purpose. Compare `code` and `hints`, not the text. `message` is the text for a
 * program; `renderFailure` writes it for others. No secret is in any of it.
 */
export class ApiChatError extends Error implements Failure {
  override readonly name = "ApiChatError";
  declare readonly code: ApiChatErrorCode;
  declare readonly operation: ApiChatOperation;
  declare readonly subject?: string;
  declare readonly summary: string;
  declare readonly problems?: readonly FieldProblem[];
  declare readonly details?: readonly string[];
  declare readonly facts: Facts;
  declare readonly hints: readonly Hint[];
  declare readonly attempts: number;
  declare readonly httpStatus?: number;
  declare readonly transcript?: HandshakeTranscript;
  readonly #failure: Failure;

  constructor(code: ApiChatErrorCode, summary: string, { cause, ...details }: ApiChatErrorDetails) {
    // What is not given is absent, so that a printed error shows only what it has.
    const given = Object.entries(details).filter(([, value]) => value !== undefined);
    const failure: Failure = {
      facts: {},
      hints: [],
      attempts: 0,
      ...Object.fromEntries(given),
      // Last: the details may be those of another failure.
      code,
      operation: details.operation,
      summary,
    };
    super(renderFailure(failure), cause === undefined ? undefined : { cause });
    Object.assign(this, failure);
    this.#failure = failure;
  }

  /** The same failure with some of its data changed. */
  with(changes: Partial<Failure>): ApiChatError {
    const { code, summary, ...details } = { ...this.#failure, ...changes };
    return new ApiChatError(code, summary, { ...details, cause: this.cause });
  }

  /** The failure as data. */
  toJSON(): Failure {
    return this.#failure;
  }

  /** What the SDK knows its own `RunError` by: it prints the message of one that ends a program, and no stack. */
  get __pulumiRunError(): true {
    return true;
  }
}

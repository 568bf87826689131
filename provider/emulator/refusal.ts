/** A request that is answered with an error: its HTTP status, and a message that holds no secret. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly httpStatus: number;
  readonly headers: Record<string, string>;

  constructor(httpStatus: number, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.httpStatus = httpStatus;
    this.headers = headers;
  }
}

/** What is wrong with each field of a body: texts without values, by the path of the field. */
export type FieldErrors = Readonly<Record<string, readonly string[]>>;

export interface RefusalOptions {
  headers?: Record<string, string>;
  fields?: FieldErrors;
}

/** A request that is answered with an error: its HTTP status, and a message that holds no secret. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly httpStatus: number;
  readonly headers: Record<string, string>;
  readonly fields: FieldErrors;

  constructor(httpStatus: number, message: string, { headers = {}, fields = {} }: RefusalOptions = {}) {
    super(message);
    this.httpStatus = httpStatus;
    this.headers = headers;
    this.fields = fields;
  }
}

/** A body of which fields are wrong: 422 with all of them in the message. */
export function refuseFields(fields: FieldErrors): Refusal {
  const problems = Object.entries(fields).flatMap(([field, texts]) =>
    texts.map((text) => (field === "" ? text : `${field}: ${text}`)),
  );
  return new Refusal(422, problems.join("; "), { fields });
}

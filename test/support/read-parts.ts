/** The fields of a multipart form, by a reader that is not the one under test. */
export const readParts = (body: string): Record<string, string> =>
  Object.fromEntries(
    Array.from(body.matchAll(/name="(\w+)"\r\n\r\n(.*)\r\n/g), ([, name = "", value = ""]) => [name, value]),
  );

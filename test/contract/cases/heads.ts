import { delivered, KEY, refused, type ContractCase, type ContractRequest } from "../contract-case.ts";

const text = { type: "text", text: "x" };
const delivery: ContractRequest = { body: JSON.stringify(text), signed: {} };
const handled = delivered("text", text);

const otherMethod = { ...refused(405, "method_not_allowed"), headers: { allow: "POST" } };
const unknownPath = refused(404, "not_found");
const compressed = {
  ...refused(415, "unsupported_media_type"),
  headers: { "accept-encoding": "identity" },
};

const query = `hub_mode=subscribe&hub_verify_token=${encodeURIComponent(KEY)}&hub_challenge=c`;

const method = (name: string): ContractCase => ({
  name: `the method ${name} is not allowed`,
  request: { method: name, target: `/hook?${query}` },
  expected: otherMethod,
});

const atPath = (name: string, target: string, expected = unknownPath): ContractCase => ({
  name,
  request: { ...delivery, target },
  options: { path: "/hook" },
  expected,
});

const withHeader = (
  name: string,
  header: readonly [name: string, value: string],
  expected = handled,
): ContractCase => ({ name, request: { ...delivery, headers: [header] }, expected });

export const headCases: ContractCase[] = [
  method("GET"),
  method("PUT"),
  method("DELETE"),
  method("PATCH"),
  method("OPTIONS"),
  method("PROPFIND"),
  {
    name: "the method HEAD is not allowed",
    request: { method: "HEAD", target: `/hook?${query}` },
    // No body: its sender takes none.
    expected: { status: 405, headers: { allow: "POST" } },
  },
  {
    ...method("TRACE"),
    cannot: { fetch: "a Request of Node may not have this method; one of workerd may" },
  },
  {
    name: "another method with a signed body is not allowed either",
    request: { ...delivery, method: "PUT" },
    expected: otherMethod,
  },
  atPath("the path itself", "/hook", handled),
  atPath("the path with a query", "/hook?tenant=7", handled),
  atPath("the root is unknown when there is a path", "/"),
  atPath("a path below the path is unknown", "/hook/x"),
  atPath("the path with a slash after it is unknown", "/hook/"),
  atPath("the path in another case is unknown", "/Hook"),
  atPath("the path written with percent signs is unknown", "/h%6Fok"),
  atPath("the path in the query is unknown", "/?/hook"),
  {
    name: "another method at an unknown path is unknown",
    request: { method: "GET", target: "/" },
    options: { path: "/hook" },
    expected: unknownPath,
  },
  {
    name: "a handshake at an unknown path is unknown",
    request: { target: `/?${query}` },
    options: { path: "/hook" },
    expected: unknownPath,
  },
  {
    name: "every path, when none was named",
    request: { ...delivery, target: "/a/b/c?d" },
    expected: handled,
  },
  withHeader("content-encoding gzip", ["Content-Encoding", "gzip"], compressed),
  withHeader("content-encoding BR", ["content-encoding", "BR"], compressed),
  withHeader("several content encodings", ["content-encoding", "identity, gzip"], compressed),
  withHeader("content-encoding identity", ["CONTENT-ENCODING", "Identity"]),
  withHeader("a delivery whose content type is multipart", [
    "Content-Type",
    "multipart/form-data; boundary=x",
  ]),
  withHeader("a delivery whose content type is JSON", ["content-type", "application/json; charset=utf-8"]),
  withHeader("a delivery whose content type is another", ["content-type", "text/xml"]),
  withHeader("a delivery with cookies", ["Cookie", "a=1; b=2"]),
];

import {
  caseOf,
  casesOf,
  delivered,
  KEY,
  rejected,
  type ContractCase,
  type ContractRequest,
} from "../contract-case.ts";

const text = { type: "text", text: "x" };
const delivery: ContractRequest = { body: JSON.stringify(text), signed: {} };
const handled = delivered("text", text);

const otherMethod = { ...rejected(405, "method_not_allowed"), headers: { allow: "POST" } };
const unknownPath = rejected(404, "not_found");
const compressed = {
  ...rejected(415, "unsupported_media_type"),
  headers: { "accept-encoding": "identity" },
};

const query = `hub_mode=subscribe&hub_verify_token=${encodeURIComponent(KEY)}&hub_challenge=c`;

const withHeader = (name: string, value: string): ContractRequest => ({
  ...delivery,
  headers: [[name, value]],
});
const withMethod = (method: string): ContractRequest => ({ method, target: `/hook?${query}` });
const atPath = { options: { path: "/hook" } };

export const headCases: ContractCase[] = [
  ...["GET", "PUT", "OPTIONS"].map((name) =>
    caseOf(`the method ${name} is not allowed`, otherMethod, withMethod(name)),
  ),
  // Does not expect an error code: the body would contain it, but a response to HEAD has no body.
  caseOf("the method HEAD is not allowed", { status: 405, headers: { allow: "POST" } }, withMethod("HEAD")),
  caseOf("the method TRACE is not allowed", otherMethod, withMethod("TRACE"), { cannot: ["fetch"] }),
  caseOf("the path with a query", handled, { ...delivery, target: "/hook?tenant=7" }, atPath),
  ...casesOf(
    unknownPath,
    {
      "the root is unknown if a path is configured": { ...delivery, target: "/" },
      "a path below the configured one is unknown": { ...delivery, target: "/hook/x" },
      "the path with a trailing slash is unknown": { ...delivery, target: "/hook/" },
      "the path in a different case is unknown": { ...delivery, target: "/Hook" },
      "the path with a percent-encoded letter is unknown": { ...delivery, target: "/h%6Fok" },
      "GET at an unknown path gets 404, not 405": { method: "GET", target: "/" },
      "a handshake at an unknown path gets 404": { target: `/?${query}` },
    },
    atPath,
  ),
  ...casesOf(compressed, {
    "content-encoding gzip": withHeader("Content-Encoding", "gzip"),
    "content-encoding BR": withHeader("content-encoding", "BR"),
  }),
  ...casesOf(handled, {
    "every path is accepted if none is configured": { ...delivery, target: "/a/b/c?d" },
    "content-encoding identity": withHeader("CONTENT-ENCODING", "Identity"),
    "a multipart content type is accepted": withHeader("Content-Type", "multipart/form-data; boundary=x"),
    cookies: withHeader("Cookie", "a=1; b=2"),
  }),
];

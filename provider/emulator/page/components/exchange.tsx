import { Fragment } from "preact";
import { useId, useMemo } from "preact/hooks";
import type { HttpMessage } from "../../service/outgoing.js";
import { resend } from "../actions.js";
import { shownRouteOf } from "../api.js";
import { indentJson } from "../json.js";
import { callsOf, ROUTES, type Exchange } from "../wire.js";
import { Tool } from "./buttons.js";
import { Code, visibleText } from "./untrusted.js";

/** A longer body is truncated: drawing megabytes would block the page. */
const SHOWN_CHARACTERS = 10_000;

export function ExchangeDetails({ exchange }: { exchange: Exchange }) {
  const { kind, record } = exchange;
  const calls = callsOf(exchange);
  const method = kind === "request" ? record.method : "POST";
  function titleOf(durationMs: number, index: number): string {
    const title = calls.length === 1 ? "Response" : `Attempt ${index + 1}`;
    return kind === "delivery" ? `${title} · ${Math.round(durationMs)} ms` : title;
  }
  return (
    <div class="vstack p-4">
      <div class="hstack gap-2">
        {kind === "delivery" && <Tool label="Resend" action={() => resend(record.id)} />}
        <a
          class="button outline small"
          href={shownRouteOf([ROUTES[kind], record.id])}
          download={`${kind}-${record.id}.json`}
        >
          Save as JSON
        </a>
      </div>
      <Line name="Address" value={`${method} ${record.url}`} />
      {kind === "handshake" && <Line name="Encoding" value={record.encoding} />}
      <Line name="Reason" value={reasonOf(calls.at(-1))} />
      {kind === "handshake" && <Line name="Hint" value={record.hint} />}
      <HttpPart title={kind === "request" ? "Received" : "Sent"} part={record.request} />
      {calls.map((call, index) => (
        <Fragment key={index}>
          {calls.length > 1 && <Line name="Reason" value={reasonOf(call)} />}
          <HttpPart title={titleOf(call.durationMs, index)} part={call.response} />
        </Fragment>
      ))}
    </div>
  );
}

/** Returns the injected fault, if any, followed by the reason for the failure, if any. */
const reasonOf = ({ fault = "", reason = "" } = {}): string =>
  [fault && `Injected fault: ${fault}`, reason].filter(Boolean).join(" · ");

function Line({ name, value }: { name: string; value: string }) {
  if (value === "") return null;
  return (
    <p>
      <span class="text-light">{name}</span> <Code>{value}</Code>
    </p>
  );
}

/** Status, headers and body of one direction; null if there was no response. */
function HttpPart({ title, part }: { title: string; part: (HttpMessage & { status?: number }) | null }) {
  const heading = useId();
  return (
    <section class="card vstack gap-2" aria-labelledby={heading}>
      <h3 id={heading}>
        {title}
        {part?.status !== undefined && ` · ${part.status}`}
      </h3>
      {part === null && <p class="text-light">no response</p>}
      {part !== null && <Headers headers={part.headers} />}
      {part !== null && <Body body={part.body} />}
    </section>
  );
}

function Headers({ headers }: Pick<HttpMessage, "headers">) {
  return (
    <ul aria-label="Headers">
      {Object.entries(headers).map(([name, value]) => (
        <li key={name}>
          <span class="text-light">
            <Code>{name}</Code>
          </span>{" "}
          <Code>{value}</Code>
        </li>
      ))}
    </ul>
  );
}

function Body({ body }: { body: string }) {
  const text = useMemo(() => indentJson(body), [body]);
  if (body === "") return <p class="text-light">Body: empty</p>;
  return (
    <>
      <pre dir="auto" data-testid="body">
        {visibleText(text.slice(0, SHOWN_CHARACTERS))}
      </pre>
      {text.length > SHOWN_CHARACTERS && <p class="text-light">Truncated. The saved JSON is complete.</p>}
    </>
  );
}

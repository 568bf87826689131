import { useSignal } from "@preact/signals";
import { Fragment } from "preact";
import { useId, useMemo } from "preact/hooks";
import type { HttpMessage } from "../../service/outgoing.js";
import type { DeliveryRecord } from "../../state.js";
import { resend } from "../actions.js";
import { IN_CLEAR, read, shownRouteOf } from "../api.js";
import { curlCommand } from "../curl.js";
import { indentJson } from "../json.js";
import { callsOf, methodOf, ROUTES, type Call, type Exchange } from "../wire.js";
import { CopyButton, Tool } from "./buttons.js";
import { FormDialog } from "./dialog.js";
import { Check } from "./form.js";
import { Code, visibleText } from "./untrusted.js";

/**
 * The actions on an exchange. "Copy" uses the real values; a saved file, which may be passed on, has the page's masks.
 */
export function ExchangeTools({ exchange }: { exchange: Exchange }) {
  const { kind, record } = exchange;
  const { id } = record;
  async function copyCurl(): Promise<string> {
    const { url, request } = await read<Exchange["record"]>([ROUTES[kind], id], IN_CLEAR);
    return curlCommand({ method: methodOf(exchange), url, ...request });
  }
  const saved = new URL(shownRouteOf([ROUTES[kind], id]), location.href).href;
  return (
    <div class="hstack gap-2" role="group" aria-label="Actions">
      {kind === "delivery" && (
        <>
          <Tool label="Resend" action={() => resend(id)} data-testid="resend" />
          <Tool label="Sign and send again" action={() => resend(id, { sign: true })} data-testid="sign" />
          <EditDelivery id={id} />
        </>
      )}
      <CopyButton label="Copy as curl" text={copyCurl} inClear />
      <a class="button outline small" href={saved} download={`${kind}-${id}.json`}>
        Save as JSON
      </a>
    </div>
  );
}

/** Sends a delivery again with another body, signed for it unless the old signature is wanted. */
function EditDelivery({ id }: { id: string }) {
  const body = useSignal("");
  async function load(): Promise<void> {
    body.value = (await read<DeliveryRecord>(["deliveries", id], IN_CLEAR)).request.body;
  }
  return (
    <FormDialog
      title="Edit and send"
      data-testid="edit"
      onOpen={load}
      action={({ sign }) => resend(id, { body: body.value, sign: sign !== undefined })}
      submit="Send"
    >
      <label class="field">
        Body
        <code>
          <textarea
            rows={12}
            spellcheck={false}
            autofocus
            value={body.value}
            onInput={({ currentTarget }) => (body.value = currentTarget.value)}
          />
        </code>
      </label>
      <Check name="sign" defaultChecked>
        Sign with the registered key (otherwise the old signature is kept)
      </Check>
    </FormDialog>
  );
}

/** A longer body is cut until it is asked for: drawing megabytes would block the page. */
const SHOWN_CHARACTERS = 10_000;

export function ExchangeDetails({ exchange }: { exchange: Exchange }) {
  const { kind, record } = exchange;
  const calls = callsOf(exchange);
  function titleOf(durationMs: number, index: number): string {
    const title = calls.length === 1 ? "Response" : `Attempt ${index + 1}`;
    return kind === "delivery" ? `${title} · ${Math.round(durationMs)} ms` : title;
  }
  return (
    <>
      <Line name="Address" value={`${methodOf(exchange)} ${record.url}`} />
      {kind === "handshake" && <Line name="Encoding" value={record.encoding} />}
      <Line name="Reason" value={reasonOf(calls.at(-1), kind === "request" ? "" : record.reason)} />
      {kind === "handshake" && <Line name="Hint" value={record.hint ?? ""} />}
      <HttpPart title={kind === "request" ? "Received" : "Sent"} part={record.request} />
      {calls.map((call, index) => (
        <Fragment key={index}>
          {calls.length > 1 && <Line name="Reason" value={reasonOf(call, call.reason)} />}
          <HttpPart title={titleOf(call.durationMs, index)} part={call.response} />
        </Fragment>
      ))}
    </>
  );
}

/** An injected fault is the reason; what follows from it comes after it. */
const reasonOf = ({ fault }: Partial<Call> = {}, reason = ""): string =>
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
  const entries = Object.entries(headers);
  if (entries.length === 0) return null;
  return (
    <details open>
      <summary>Headers</summary>
      <ul>
        {entries.map(([name, value]) => (
          <li key={name}>
            <span class="text-light">
              <Code>{name}</Code>
            </span>{" "}
            <Code>{value}</Code>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Body({ body }: { body: string }) {
  const whole = useSignal(false);
  const text = useMemo(() => indentJson(body), [body]);
  if (body === "") return <p class="text-light">Body: empty</p>;
  const cut = !whole.value && text.length > SHOWN_CHARACTERS;
  return (
    <details open>
      <summary>Body</summary>
      <pre dir="auto" data-testid="body">
        {visibleText(cut ? text.slice(0, SHOWN_CHARACTERS) : text)}
      </pre>
      {cut && (
        <Tool
          label={`Show all ${text.length.toLocaleString("en")} characters`}
          action={() => (whole.value = true)}
        />
      )}
    </details>
  );
}

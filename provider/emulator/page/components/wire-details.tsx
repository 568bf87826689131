import { useSignal } from "@preact/signals";
import { Fragment } from "preact";
import { useId, useMemo } from "preact/hooks";
import type { DeliveryView, HttpView } from "../../control/shapes.js";
import { t } from "../i18n/translate.js";
import { indentJson, isIndentable } from "../indent-json.js";
import { visibleText } from "../untrusted.js";
import type { Exchange } from "../wire.js";
import { Tool } from "./buttons.js";
import { BoundCheck } from "./field.js";
import { Text } from "./text.js";

/** A longer body is cut until it is asked for: drawing megabytes would block the page. */
const SHOWN_CHARACTERS = 10_000;

/** A longer body is indented on request: it takes a second for each megabyte. */
const INDENTED_CHARACTERS = 100_000;

/** Everything that is known of an exchange. */
export function WireDetails({ entry }: { entry: Exchange }) {
  const { url, request } = entry.record;
  if (entry.kind === "request") {
    const { method, fault, response } = entry.record;
    return (
      <>
        <Line name={t("wire.address")} value={`${method} ${url}`} />
        <Line name={t("wire.injectedFault")} value={fault} />
        <HttpPart title={t("wire.received")} part={request} />
        <HttpPart title={t("wire.answered")} part={response} />
      </>
    );
  }
  return (
    <>
      <Line name={t("wire.address")} value={`POST ${url}`} />
      {entry.kind === "handshake" && <Line name={t("wire.encoding")} value={entry.record.encoding} />}
      <Line name={t("wire.reason")} value={entry.record.reason} />
      <HttpPart title={t("wire.sent")} part={request} />
      {entry.kind === "handshake" && (
        <HttpPart title={t("wire.answerReceived")} part={entry.record.response} />
      )}
      {entry.kind === "delivery" && <Attempts attempts={entry.record.attempts} />}
    </>
  );
}

function Attempts({ attempts }: Pick<DeliveryView, "attempts">) {
  const isOnly = attempts.length === 1;
  return attempts.map(({ durationMs, response, reason, fault }, index) => {
    const title = isOnly ? t("wire.answerReceived") : t("wire.attempt", { number: index + 1 });
    return (
      <Fragment key={index}>
        <HttpPart title={`${title} · ${Math.round(durationMs)} ms`} part={response} />
        {!isOnly && <Line name={t("wire.reason")} value={reason} />}
        <Line name={t("wire.injectedFault")} value={fault} />
      </Fragment>
    );
  });
}

function Line({ name, value }: { name: string; value: string }) {
  if (value === "") return null;
  return (
    <p>
      <span class="text-light">{name}</span>{" "}
      <code>
        <Text>{value}</Text>
      </code>
    </p>
  );
}

/** Status, headers and body of one direction; null if there was no answer. */
function HttpPart({ title, part }: { title: string; part: HttpView | null }) {
  const heading = useId();
  return (
    <section class="card vstack gap-2" aria-labelledby={heading}>
      <h3 id={heading}>
        {title}
        {part?.status !== undefined && ` · ${part.status}`}
      </h3>
      {part === null ? (
        <p class="text-light">{t("wire.noAnswer")}</p>
      ) : (
        <>
          <Headers headers={part.headers} />
          <Body body={part.body} />
        </>
      )}
    </section>
  );
}

function Headers({ headers }: Pick<HttpView, "headers">) {
  const entries = Object.entries(headers);
  if (entries.length === 0) return null;
  return (
    <details open>
      <summary>{t("wire.headers")}</summary>
      <ul>
        {entries.map(([name, value]) => (
          <li key={name}>
            <code class="text-light">
              <Text>{name}</Text>
            </code>{" "}
            <code>
              <Text>{value}</Text>
            </code>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Body({ body }: { body: string }) {
  const whole = useSignal(false);
  const indented = useSignal(body.length <= INDENTED_CHARACTERS);
  const indentable = useMemo(() => isIndentable(body), [body]);
  const text = useMemo(
    () => (indented.value && indentable ? indentJson(body) : body),
    [body, indented.value],
  );
  if (body === "") return <p class="text-light">{`${t("wire.body")}: ${t("wire.emptyBody")}`}</p>;
  const cut = !whole.value && text.length > SHOWN_CHARACTERS;
  return (
    <details open>
      <summary>{t("wire.body")}</summary>
      {indentable && <BoundCheck signal={indented}>{t("wire.indent")}</BoundCheck>}
      <pre dir="auto" data-testid="body">
        {visibleText(cut ? text.slice(0, SHOWN_CHARACTERS) : text)}
      </pre>
      {cut && <Tool label={t("wire.showAll", { count: text.length })} action={() => (whole.value = true)} />}
    </details>
  );
}

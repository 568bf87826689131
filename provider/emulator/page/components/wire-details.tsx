import type { AttemptView, DeliveryView, HandshakeView, RequestView } from "../../control/shapes.js";
import { t } from "../i18n/translate.js";
import type { WireEntry } from "../wire.js";
import { HttpPart } from "./http-part.js";
import { Text } from "./text.js";

/** Everything that is known of an exchange. */
export function WireDetails({ entry }: { entry: WireEntry }) {
  switch (entry.kind) {
    case "request":
      return <RequestDetails request={entry.record} />;
    case "handshake":
      return <HandshakeDetails handshake={entry.record} />;
    case "delivery":
    default:
      return <DeliveryDetails delivery={entry.record} />;
  }
}

function RequestDetails({ request }: { request: RequestView }) {
  const { method, url, fault, sent, received } = request;
  return (
    <>
      <Line name={t("wire.address")} value={`${method} ${url}`} />
      <Line name={t("wire.faultStruck")} value={fault} />
      <HttpPart title={t("wire.received")} part={sent} />
      <HttpPart title={t("wire.answered")} part={received} />
    </>
  );
}

function HandshakeDetails({ handshake }: { handshake: HandshakeView }) {
  return (
    <>
      <Line name={t("wire.address")} value={`POST ${handshake.url}`} />
      <Line name={t("wire.encoding")} value={handshake.encoding} />
      <Line name={t("wire.reason")} value={handshake.reason} />
      <HttpPart title={t("wire.sent")} part={handshake.sent} />
      <HttpPart title={t("wire.answerReceived")} part={handshake.received} />
    </>
  );
}

function DeliveryDetails({ delivery }: { delivery: DeliveryView }) {
  const { url, reason, sent, attempts } = delivery;
  return (
    <>
      <Line name={t("wire.address")} value={`POST ${url}`} />
      <Line name={t("wire.reason")} value={reason} />
      <HttpPart title={t("wire.sent")} part={sent} />
      {attempts.map((attempt, index) => (
        <Attempt key={index} number={index + 1} attempt={attempt} only={attempts.length === 1} />
      ))}
    </>
  );
}

function Attempt({ number, attempt, only }: { number: number; attempt: AttemptView; only: boolean }) {
  const title = only ? t("wire.answerReceived") : t("wire.attempt", { number });
  return (
    <>
      <HttpPart title={`${title} · ${Math.round(attempt.durationMs)} ms`} part={attempt.received} />
      {!only && <Line name={t("wire.reason")} value={attempt.reason} />}
      <Line name={t("wire.faultStruck")} value={attempt.fault} />
    </>
  );
}

function Line({ name, value }: { name: string; value: string }) {
  if (value === "") return null;
  return (
    <p class="detail">
      <span class="muted">{name}</span>{" "}
      <span class="mono">
        <Text>{value}</Text>
      </span>
    </p>
  );
}

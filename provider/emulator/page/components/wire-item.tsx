import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { t, timeOf } from "../i18n/translate.js";
import type { MessageContent } from "../message-content.js";
import { isLinked, linked } from "../store.js";
import {
  durationMsOf,
  hasFault,
  isSuccess,
  messageOf,
  outcomeOf,
  statusOf,
  wireKindOf,
  type Exchange,
} from "../wire.js";
import { Text } from "./text.js";
import { WireDetails } from "./wire-details.js";
import { WireTools } from "./wire-tools.js";

const SUBJECT_CHARACTERS = 80;

/** One exchange: a line that unfolds to headers and bodies. */
export function WireItem({ entry }: { entry: Exchange }) {
  const open = useSignal(false);
  const element = useRef<HTMLDetailsElement>(null);
  const link = isLinked(entry) ? linked.value : null;
  useEffect(() => {
    if (link === null || element.current === null) return;
    element.current.open = true;
    element.current.querySelector("summary")?.focus();
    element.current.scrollIntoView();
  }, [link]);
  return (
    <li>
      <details
        ref={element}
        class="exchange"
        data-testid="exchange"
        data-kind={wireKindOf(entry)}
        data-outcome={outcomeOf(entry)}
        onToggle={(event) => (open.value = event.currentTarget.open)}
      >
        <summary>
          <Line entry={entry} />
        </summary>
        {open.value && (
          <div class="vstack p-4">
            <WireTools entry={entry} />
            <WireDetails entry={entry} />
          </div>
        )}
      </details>
    </li>
  );
}

function Line({ entry }: { entry: Exchange }) {
  const { at } = entry.record;
  return (
    <>
      <span aria-hidden="true">{entry.kind === "request" ? "→" : "←"}</span>
      <strong>
        {nameOf(entry)} <Subject entry={entry} />
      </strong>
      <StatusBadge entry={entry} />
      <span class="facts hstack gap-2 text-light">
        <Verdict entry={entry} />
        {hasFault(entry) && (
          <span class="badge" data-variant="warning">
            {t("wire.fault")}
          </span>
        )}
        <span>{Math.round(durationMsOf(entry))} ms</span>
        <time dateTime={at}>{timeOf(at)}</time>
      </span>
    </>
  );
}

function nameOf(entry: Exchange) {
  switch (entry.kind) {
    case "handshake":
      return t("wire.handshake");
    case "delivery":
      return entry.record.resendOf === null
        ? t("wire.delivery")
        : `${t("wire.delivery")} (${t("wire.resent")})`;
    case "request":
    default:
      if (entry.record.interface === "bot") return t("wire.message");
      return <Text>{entry.record.operation ?? t("wire.request")}</Text>;
  }
}

/** Distinguishes one delivery from the next without opening it. */
function Subject({ entry }: { entry: Exchange }) {
  const content = messageOf(entry);
  if (content === null || content.kind === "unknown") return null;
  return (
    <small>
      <Text>{subjectOf(content)}</Text>
    </small>
  );
}

function subjectOf(content: Exclude<MessageContent, { kind: "unknown" }>): string {
  switch (content.kind) {
    case "media":
      return t(`media.${content.media}`);
    case "postback":
      return `${t("chat.pressed")}: ${content.title}`;
    case "cards":
      return t("compose.kind.generic_template");
    case "buttons":
      return `${t("compose.kind.button_template")}: ${content.text}`;
    case "text":
    default:
      return content.text.slice(0, SUBJECT_CHARACTERS);
  }
}

function StatusBadge({ entry }: { entry: Exchange }) {
  const status = statusOf(entry);
  if (status === null && outcomeOf(entry) === "pending") {
    return <span class="badge outline">{t("wire.pending")}</span>;
  }
  return (
    <span class="badge" data-variant={isSuccess(status) ? "success" : "danger"}>
      {status ?? t("wire.noAnswer")}
    </span>
  );
}

function Verdict({ entry }: { entry: Exchange }) {
  if (entry.kind === "request") return null;
  const { verdict } = entry.record;
  return (
    <>
      {verdict !== "pending" && (
        <span class={verdict === "failed" ? "bad" : "good"}>{t(`wire.verdict.${verdict}`)}</span>
      )}
      {entry.kind === "delivery" && (
        <span class={entry.record.signature === "wrong" ? "bad" : undefined}>
          {t(`wire.signature.${entry.record.signature}`)}
        </span>
      )}
      {entry.kind === "delivery" && entry.record.attempts.length > 1 && (
        <span>{t("wire.attempts", { count: entry.record.attempts.length })}</span>
      )}
    </>
  );
}

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { timeOf } from "../times.js";
import { MAX_EXCHANGES } from "../data.js";
import { exchanges, filter, linked } from "../store.js";
import {
  callsOf,
  holds,
  isSuccess,
  keyOf,
  outcomeOf,
  subjectOf,
  WIRE_KINDS,
  wireKindOf,
  type Exchange,
} from "../wire.js";
import { ExchangeDetails, ExchangeTools } from "./exchange.js";
import { Field, Select } from "./form.js";
import { Text } from "./untrusted.js";

/** More lines would make the page slow: a search finds the others. */
const MAX_SHOWN = 200;

/** The exchanges between the emulator and the program under test, newest first. */
export function Wire() {
  const { kind, text } = filter.value;
  const found = exchanges.value.filter(
    (entry) => (kind === "all" || wireKindOf(entry) === kind) && (text === "" || holds(entry, text)),
  );
  return (
    <>
      <div class="head vstack gap-2">
        <div class="hstack justify-between">
          <h2>On the wire</h2>
          <Select
            label="Kind"
            value={kind}
            options={["all", ...WIRE_KINDS]}
            onChange={(chosen) => (filter.value = { kind: chosen, text })}
            hideLabel
            data-testid="wire-kind"
          />
        </div>
        <Field
          label="Search URL, status, operation or body"
          value={text}
          onText={(typed) => (filter.value = { kind, text: typed })}
          type="search"
          hideLabel
        />
      </div>
      <div class="exchanges">
        {found.length === 0 && (
          <p class="text-light p-4">
            {exchanges.value.length === 0 ? "Nothing on the wire yet." : "No exchange matches."}
          </p>
        )}
        <ol aria-label="Exchanges, newest first" data-testid="wire">
          {found.map(
            (entry, index) =>
              (index < MAX_SHOWN || isLinked(entry)) && (
                <WireItem key={keyOf(entry.kind, entry.record.id)} entry={entry} />
              ),
          )}
        </ol>
        {exchanges.value.length > MAX_SHOWN && (
          <p class="text-light p-4">
            This list shows at most {MAX_SHOWN}. A search covers the newest{" "}
            {MAX_EXCHANGES.toLocaleString("en")} requests, handshakes and deliveries each.
          </p>
        )}
      </div>
    </>
  );
}

const isLinked = ({ kind, record }: Exchange): boolean =>
  kind === "delivery" && record.id === linked.value?.id;

function WireItem({ entry }: { entry: Exchange }) {
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
            <ExchangeTools exchange={entry} />
            <ExchangeDetails exchange={entry} />
          </div>
        )}
      </details>
    </li>
  );
}

function Line({ entry }: { entry: Exchange }) {
  const { kind, record } = entry;
  const calls = callsOf(entry);
  const faults = new Set(calls.map(({ fault }) => fault || ""));
  faults.delete("");
  const durationMs = calls.reduce((total, call) => total + call.durationMs, 0);
  return (
    <>
      <span aria-hidden="true">{kind === "request" ? "→" : "←"}</span>{" "}
      <strong>
        {nameOf(entry)}{" "}
        <small>
          <Text>{subjectOf(entry)}</Text>
        </small>
      </strong>{" "}
      <StatusBadge entry={entry} />
      <small class="facts hstack gap-2">
        {kind !== "request" && record.verdict !== "pending" && (
          <span class={record.verdict === "failed" ? "bad" : "good"}>{record.verdict}</span>
        )}
        {kind === "handshake" && record.reason !== "" && <Text>{record.reason}</Text>}
        {kind === "delivery" && record.signature === "right" && <span>valid signature</span>}
        {kind === "delivery" && record.signature === "wrong" && <span class="bad">invalid signature</span>}
        {calls.length > 1 && <span>{calls.length} attempts</span>}
        {faults.size > 0 && (
          <span class="badge" data-variant="warning">
            Injected fault: {[...faults].join(", ")}
          </span>
        )}
        <span>{Math.round(durationMs)} ms</span>
        <time dateTime={record.at}>{timeOf(record.at)}</time>
      </small>
    </>
  );
}

function nameOf({ kind, record }: Exchange): string {
  if (kind === "handshake") return "Handshake";
  if (kind === "delivery") {
    return record.resendOf === null ? "Delivery" : "Delivery (resent)";
  }
  return record.interface === "bot" ? "Message" : (record.operation ?? "Request");
}

function StatusBadge({ entry }: { entry: Exchange }) {
  const status = callsOf(entry).at(-1)?.response?.status;
  if (status === undefined && outcomeOf(entry) === "pending") {
    return <span class="badge outline">in progress</span>;
  }
  return (
    <span class="badge" data-variant={isSuccess(status) ? "success" : "danger"}>
      {status ?? "no response"}
    </span>
  );
}

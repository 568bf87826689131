import { useSignal } from "@preact/signals";
import { timeOf } from "../times.js";
import { MAX_EXCHANGES } from "../data.js";
import { exchanges } from "../store.js";
import { callsOf, isSuccess, outcomeOf, subjectOf, type Exchange } from "../wire.js";
import { ExchangeDetails } from "./exchange.js";
import { Text } from "./untrusted.js";

/** The exchanges between the emulator and the program under test, newest first. */
export function Wire() {
  return (
    <>
      <h2 class="head">On the wire</h2>
      {exchanges.value.length === 0 && <p class="text-light p-4">Nothing on the wire yet.</p>}
      <ol aria-label="Exchanges, newest first" data-testid="wire">
        {exchanges.value.map((entry) => (
          <WireItem key={entry.record.id} entry={entry} />
        ))}
      </ol>
      {exchanges.value.length === MAX_EXCHANGES && (
        <p class="text-light p-4">These are the newest {MAX_EXCHANGES}.</p>
      )}
    </>
  );
}

function WireItem({ entry }: { entry: Exchange }) {
  const open = useSignal(false);
  return (
    <li>
      <details
        id={entry.record.id}
        class="exchange"
        data-testid="exchange"
        data-kind={entry.kind}
        data-outcome={outcomeOf(entry)}
        onToggle={(event) => (open.value = event.currentTarget.open)}
      >
        <summary>
          <Line entry={entry} />
        </summary>
        {open.value && <ExchangeDetails exchange={entry} />}
      </details>
    </li>
  );
}

function Line({ entry }: { entry: Exchange }) {
  const { kind, record } = entry;
  const calls = callsOf(entry);
  const faults = new Set(calls.map(({ fault }) => fault));
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

import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { timeOf } from "../times.js";
import { loadOlder } from "../live.js";
import { data, exchanges, held, isLinked, linked } from "../store.js";
import {
  callsOf,
  holds,
  isSuccess,
  keyOf,
  outcomeOf,
  subjectOf,
  wireKindOf,
  type Exchange,
} from "../wire.js";
import { Tool, walk } from "./buttons.js";
import { ExchangeDetails, ExchangeTools } from "./exchange.js";
import { Field, Select } from "./form.js";
import { Text } from "./untrusted.js";

const SHOWN_AT_FIRST = 100;

const KINDS = ["all", "message", "delivery", "handshake", "registration"] as const;

/** A linked exchange is shown whatever was chosen before, not whatever is chosen after. */
function choose<T>(choice: Signal<T>, value: T): void {
  choice.value = value;
  linked.value = null;
}

/** The exchanges between the emulator and the program under test, newest first. */
export function Wire() {
  const kind = useSignal<(typeof KINDS)[number]>("all");
  const search = useSignal("");
  const isWanted = (entry: Exchange): boolean =>
    (kind.value === "all" || wireKindOf(entry) === kind.value) &&
    (search.value === "" || holds(entry, search.value));
  return (
    <>
      <div class="head vstack gap-2">
        <div class="hstack justify-between">
          <h2>On the wire</h2>
          <Select
            label="Kind"
            value={kind.value}
            options={KINDS}
            onChange={(chosen) => choose(kind, chosen)}
            hideLabel
            data-testid="wire-kind"
          />
        </div>
        <Field
          label="Search URL, status, operation or body"
          value={search.value}
          onText={(text) => choose(search, text)}
          type="search"
          aria-keyshortcuts="/"
          hideLabel
        />
      </div>
      <Exchanges entries={exchanges.value.filter((entry) => isLinked(entry) || isWanted(entry))} />
    </>
  );
}

/** Whether it arrived after the list was held. A linked exchange is always shown. */
const isNew = (entry: Exchange): boolean =>
  held.value !== null && entry.record.order > held.value && !isLinked(entry);

/** The list, which does not move under the reader: exchanges that arrive meanwhile wait behind a button. */
function Exchanges({ entries }: { entries: readonly Exchange[] }) {
  const shown = useSignal(SHOWN_AT_FIRST);
  const frame = useRef<HTMLDivElement>(null);
  const { reach, isCut } = data.value;
  const waiting = entries.every(isNew) ? [] : entries.filter(isNew);
  const settled = waiting.length === 0 ? entries : entries.filter((entry) => !isNew(entry));
  const count = Math.max(shown.value, settled.findIndex(isLinked) + 1);
  const older = Math.min(settled.length - count, SHOWN_AT_FIRST);
  function hold(): void {
    const { scrollTop = 0 } = frame.current ?? {};
    const isRead = scrollTop > 0 || frame.current?.querySelector(".exchange[open]") !== null;
    held.value = isRead ? (held.value ?? exchanges.value[0]?.record.order ?? null) : null;
  }
  function showNew(): void {
    held.value = null;
    frame.current?.scrollTo({ top: 0 });
    hold();
  }
  return (
    <div class="exchanges" ref={frame} onScroll={hold}>
      {waiting.length > 0 && (
        <button type="button" class="pill" onClick={showNew} data-testid="new-exchanges">
          {waiting.length} new
        </button>
      )}
      {entries.length === 0 && (
        <p class="text-light p-4">
          {exchanges.value.length === 0 ? "Nothing on the wire yet." : "No exchange matches."}
        </p>
      )}
      <ol aria-label="Exchanges, newest first" onKeyDown={walk} data-testid="wire">
        {settled.slice(0, count).map((entry) => (
          <WireItem key={keyOf(entry.kind, entry.record.id)} entry={entry} onFold={hold} />
        ))}
      </ol>
      {(older > 0 || isCut) && (
        <div class="text-light vstack gap-2 p-4">
          {older <= 0 && `The newest ${reach.toLocaleString("en")} of each kind are searched.`}
          <Tool
            label={older > 0 ? `Show ${older} older` : "Load older"}
            action={older > 0 ? () => (shown.value = count + SHOWN_AT_FIRST) : loadOlder}
          />
        </div>
      )}
    </div>
  );
}

/** One exchange: a line that unfolds to headers and bodies. */
function WireItem({ entry, onFold }: { entry: Exchange; onFold: () => void }) {
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
        onToggle={(event) => {
          open.value = event.currentTarget.open;
          onFold();
        }}
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
      <span aria-hidden="true">{kind === "request" ? "→" : "←"}</span>
      <strong>
        {nameOf(entry)}{" "}
        <small>
          <Text>{subjectOf(entry)}</Text>
        </small>
      </strong>
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

import { dismiss, notices } from "../notices.js";
import { Tool } from "./buttons.js";
import { visibleText } from "./untrusted.js";

const ROLES = { error: "alert", done: "status" } as const;

/**
 * Errors interrupt a screen reader, success messages wait. Both regions always exist: otherwise they would
 * not be read.
 */
export function Notices() {
  return (
    <div class="notices">
      {(["error", "done"] as const).map((kind) => (
        <div key={kind} role={ROLES[kind]} data-testid={kind}>
          {notices.value.map(
            (notice, index) =>
              notice.kind === kind && (
                <div key={index} class={`card flex justify-between ${kind}`}>
                  <p>{visibleText(notice.text)}</p>
                  <Tool short="×" label="Dismiss" action={() => dismiss(notice)} />
                </div>
              ),
          )}
        </div>
      ))}
    </div>
  );
}

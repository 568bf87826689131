import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { attempt } from "../notices.js";

interface FieldProps {
  label: string;
  value: string;
  onInput: (text: string) => void;
  hint?: string;
  /** For a screen reader only; shown as the placeholder. */
  hideLabel?: boolean;
  type?: "text" | "url" | "number";
  required?: boolean;
  pattern?: string;
  min?: number;
  max?: number;
  step?: number | "any";
  autofocus?: boolean;
  testId?: string;
}

/** A labelled input of one line, which the browser neither completes nor corrects. */
export function Field({ label, onInput, hint, hideLabel, type = "text", testId, ...input }: FieldProps) {
  const hintId = useId();
  // Preact's types want a literal.
  const typed: object = { type };
  return (
    <label class="field">
      {!hideLabel && label}
      <input
        {...input}
        {...typed}
        onInput={(event) => onInput(event.currentTarget.value)}
        placeholder={hideLabel ? label : undefined}
        autocomplete="off"
        spellcheck={false}
        dir="auto"
        aria-label={label}
        aria-describedby={hint === undefined ? undefined : hintId}
        data-testid={testId}
      />
      {hint !== undefined && <small id={hintId}>{hint}</small>}
    </label>
  );
}

/** The props of a field that shows and changes a signal. */
export const bound = (signal: Signal<string>): Pick<FieldProps, "value" | "onInput"> => ({
  value: signal.value,
  onInput: (text) => void (signal.value = text),
});

interface SelectProps<Value extends string> {
  label: string;
  value: Value;
  options: readonly (readonly [value: Value, text: string])[];
  /** May promise whether it succeeded: the control goes back if not. */
  onChange: (value: Value) => unknown;
  hideLabel?: boolean;
  testId?: string;
}

/** A labelled choice. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  const { label, value, options, onChange, hideLabel, testId } = props;
  return (
    <label class="field">
      {!hideLabel && label}
      <select
        value={value}
        onChange={({ currentTarget: select }) => {
          const chosen = options.find(([option]) => option === select.value);
          if (chosen !== undefined) void revertIfFailed(onChange(chosen[0]), () => (select.value = value));
        }}
        aria-label={label}
        data-testid={testId}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

interface CheckProps {
  checked: boolean;
  /** May promise whether it succeeded: the control goes back if not. */
  onChange: (checked: boolean) => unknown;
  children: ComponentChildren;
  testId?: string;
}

/** A labelled check box. */
export function Check({ checked, onChange, children, testId }: CheckProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        onChange={({ currentTarget: box }) =>
          void revertIfFailed(onChange(box.checked), () => (box.checked = checked))
        }
        data-testid={testId}
      />
      {children}
    </label>
  );
}

/** A labelled check box that shows and changes a signal. */
export function BoundCheck({ signal, children }: { signal: Signal<boolean>; children: ComponentChildren }) {
  return (
    <Check checked={signal.value} onChange={(checked) => (signal.value = checked)}>
      {children}
    </Check>
  );
}

/** The page draws a control again when its value changes, so not after a change that was refused. */
async function revertIfFailed(change: unknown, revert: () => void): Promise<void> {
  if (change instanceof Promise && (await change) === false) revert();
}

interface FormProps {
  class?: string;
  label?: string;
  /** Its failure is shown, and the form stays filled in. */
  action: () => Promise<unknown>;
  onDone?: () => void;
  children: ComponentChildren;
}

/** A form that is submitted once at a time. */
export function Form({ class: className, label, action, onDone, children }: FormProps) {
  const busy = useSignal(false);
  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    if (busy.value) return;
    busy.value = true;
    const done = await attempt(action);
    busy.value = false;
    if (done) onDone?.();
  }
  return (
    <form
      class={className}
      aria-label={label}
      aria-busy={busy.value}
      autocomplete="off"
      onSubmit={(event) => void submit(event)}
    >
      {children}
    </form>
  );
}

import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface Props {
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
export function Field({ label, onInput, hint, hideLabel, type = "text", testId, ...input }: Props) {
  const id = useId();
  // Preact's types want a literal.
  const typed: object = { type };
  return (
    <div class="field">
      <label for={id} class={hideLabel ? "hidden" : undefined}>
        {label}
      </label>
      <input
        {...input}
        {...typed}
        id={id}
        onInput={(event) => onInput(event.currentTarget.value)}
        placeholder={hideLabel ? label : undefined}
        autocomplete="off"
        spellcheck={false}
        dir="auto"
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        data-testid={testId}
      />
      {hint !== undefined && (
        <small id={`${id}-hint`} class="hint">
          {hint}
        </small>
      )}
    </div>
  );
}

/** What a field needs to show a signal and to change it. */
export const bound = (signal: Signal<string>): Pick<Props, "value" | "onInput"> => ({
  value: signal.value,
  onInput: (text) => void (signal.value = text),
});

interface SelectProps<Value extends string> {
  label: string;
  value: Value;
  options: readonly (readonly [value: Value, text: string])[];
  /** May promise whether it was done: the control goes back if not. */
  onChange: (value: Value) => unknown;
  hideLabel?: boolean;
  testId?: string;
}

/** A labelled choice. */
export function Select<Value extends string>({
  label,
  value,
  options,
  onChange,
  hideLabel,
  testId,
}: SelectProps<Value>) {
  const id = useId();
  return (
    <div class="field">
      <label for={id} class={hideLabel ? "hidden" : undefined}>
        {label}
      </label>
      <select
        id={id}
        value={value}
        onChange={(event) => {
          const { currentTarget: select } = event;
          const chosen = options.find(([option]) => option === select.value);
          if (chosen !== undefined) void revertIfFailed(onChange(chosen[0]), () => (select.value = value));
        }}
        data-testid={testId}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

interface CheckProps {
  checked: boolean;
  /** May promise whether it was done: the control goes back if not. */
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

/** The page draws a control anew when its value changes, so not after a change that was refused. */
async function revertIfFailed(change: unknown, revert: () => void): Promise<void> {
  if (change instanceof Promise && (await change) === false) revert();
}

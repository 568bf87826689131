import { useId } from "preact/hooks";
import { Input } from "./input.js";

interface Props {
  label: string;
  value: string;
  onInput: (value: string) => void;
  type?: "text" | "url";
  required?: boolean;
}

/** An input within a row of a template: its label is its placeholder too. */
export function RowField({ label, value, onInput, type, required }: Props) {
  const id = useId();
  return (
    <div class="field">
      <label for={id} class="hidden">
        {label}
      </label>
      <Input
        id={id}
        type={type}
        value={value}
        required={required}
        placeholder={label}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </div>
  );
}

import type { TargetedEvent } from "preact";

export interface InputProps {
  id: string;
  type?: "text" | "url" | "number";
  value: string;
  onInput: (event: TargetedEvent<HTMLInputElement>) => void;
  required?: boolean;
  pattern?: string;
  min?: number;
  max?: number;
  step?: number | "any";
  autofocus?: boolean;
  placeholder?: string;
  "aria-describedby"?: string;
  "data-testid"?: string;
}

/** An input that the browser neither completes nor corrects. One element for each type: Preact's types want a literal. */
export function Input({ type = "text", ...given }: InputProps) {
  const props = { ...given, autocomplete: "off", spellcheck: false, dir: "auto" } as const;
  if (type === "url") return <input {...props} type="url" />;
  return type === "number" ? <input {...props} type="number" /> : <input {...props} type="text" />;
}

/** Placeholder for an input that is not known yet in a preview. */
export const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** Whether a preview does not know a value, or an item of it. */
export const isUnknown = (value: unknown): boolean => [value].flat().includes(UNKNOWN);

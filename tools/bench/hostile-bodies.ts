const MIB = 1024 * 1024;

/** Repeats a text between two others up to exactly 1 MiB. */
const fill = (start: string, repeated: string, end = ""): string => {
  const room = MIB - start.length - end.length;
  return start + repeated.repeat(Math.ceil(room / repeated.length)).slice(0, room) + end;
};

/** Bodies of 1 MiB that are expensive for a careless parser: each looks like a handshake, but is not one. */
export const HOSTILE_BODIES: Record<string, string> = {
  "pairs without =": fill("hub_challenge=c", "&a"),
  "one name again and again": fill("hub_challenge=c", "&hub_challenge=c"),
  "empty pairs": fill("hub_challenge=c", "&"),
  "percent signs": fill("hub_challenge=", "%80%"),
  "nested JSON": fill('{"hub_challenge":', '{"a":'),
  "a number of a million digits": fill('{"hub_challenge":"c","conv_id":', "9", "}"),
  whitespace: fill("", " ", '{"hub_challenge":"c"}'),
  "the lines between parts": fill("--b\r\nhub_challenge\r\n", "--b\r\n\r\n"),
};

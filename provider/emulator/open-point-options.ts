import * as z from "zod";
import { isFlowApiKeyAs } from "../client/internal.js";
import { OPEN_POINTS, type OpenPoint } from "./open-points.js";

/** The reading whose value is an object that contains the name of a header. */
const HEADER = "header:NAME";

const flowKeyError =
  'must be "bearer", "raw", "body", "none" or { header: "X-Api-Key" }, with a header that requests do not already use';
const ownHeader = z
  .strictObject({
    /** The name of the header, such as `X-Api-Key`. */
    header: z.string(),
  })
  .refine(isFlowApiKeyAs, { error: flowKeyError });

/** The values of a point: one of its readings, or what its kind accepts. */
type ValueOf<Point> = Point extends { readings: Readonly<Record<infer Name, string>> }
  ? Exclude<Name, typeof HEADER> | (typeof HEADER extends Name ? z.input<typeof ownHeader> : never)
  : Point extends { kind: "flag" }
    ? boolean
    : Point extends { kind: "text" }
      ? string
      : number;

type SchemaOf<Point, Value = ValueOf<Point>> = Point extends { default: undefined }
  ? z.ZodOptional<z.ZodType<Value, Value>>
  : z.ZodDefault<z.ZodType<Value, Value>>;

type SchemasOf<Points> = { [Name in keyof Points]: SchemaOf<Points[Name]> };

const toSchemas = <Points extends Record<string, OpenPoint>>(points: Points): SchemasOf<Points> =>
  Object.fromEntries(
    Object.entries(points).map(([name, point]) => {
      const schema = toSchema(point);
      return [name, point.default === undefined ? schema.optional() : schema.default(point.default)];
    }),
  ) as SchemasOf<Points>;

function toSchema(point: OpenPoint): z.ZodType {
  if ("readings" in point) {
    const { [HEADER]: header, ...named } = point.readings;
    const names = z.enum(Object.keys(named));
    return header === undefined ? names : z.union([names, ownHeader], { error: flowKeyError });
  }
  if (point.kind === "flag") return z.boolean();
  if (point.kind === "text") return z.string().min(1);
  return (point.kind === "ms" ? z.number() : z.int()).min(point.min).max(point.max);
}

const { handshake, ...others } = OPEN_POINTS;

/** zod schemas of the switches. Each switch selects a reading of one open point of the specification. */
export const switches = {
  /** How the service performs the handshake. */
  handshake: z.strictObject(toSchemas(handshake)).prefault({}),
  ...toSchemas(others),
};

/** Picks the switches from an emulator's options. */
export const switchSettings = z.object(switches);

/** How the emulator reads the points that the specification leaves open. */
export interface Switches extends z.input<typeof switchSettings> {}

/** The switches with every default filled in. */
export type SwitchSettings = z.output<typeof switchSettings>;

/** A reading of the open point of this name. */
export type Reading<Name extends keyof SwitchSettings> = SwitchSettings[Name];

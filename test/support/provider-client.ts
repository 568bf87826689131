import { promisify } from "node:util";
import { credentials, type ServiceError } from "@grpc/grpc-js";
import services from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import statuses from "@pulumi/pulumi/proto/status_pb.js";
import protobuf from "google-protobuf/google/protobuf/struct_pb.js";

/** Properties as they are on the wire, with their marks for secret and unknown values. */
export type Marked = Record<string, unknown>;

export interface Failure {
  property: string;
  reason: string;
}

export interface Options {
  preview?: boolean;
  /** The timeout from `customTimeouts`, in seconds. */
  timeout?: number;
}

type Client = InstanceType<typeof services.ResourceProviderClient>;

/** Calls a method. Each field is set on the request; objects are sent as protobuf structs. */
export type Call = <Answer>(
  method: keyof Client,
  request: object,
  fields?: Record<string, unknown>,
) => Promise<Answer>;

/** Connects to a provider on this machine. */
export function connectProvider(port: number | string): { call: Call; close: () => void } {
  const client = new services.ResourceProviderClient(`127.0.0.1:${port}`, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
  });
  return {
    call: <Answer>(method: keyof Client, request: object, fields: Record<string, unknown> = {}) => {
      for (const [field, value] of Object.entries(fields)) setField(request, field, value);
      return promisify<object, Answer>(client[method].bind(client) as never)(request);
    },
    close: () => client.close(),
  };
}

function setField(request: object, field: string, value: unknown): void {
  const setter = `set${field.charAt(0).toUpperCase()}${field.slice(1)}`;
  const isStruct = typeof value === "object" && !Array.isArray(value);
  (request as Record<string, (value: unknown) => void>)[setter]?.(
    isStruct ? protobuf.Struct.fromJavaScript(value as never) : value,
  );
}

export const valuesOf = (struct: protobuf.Struct | undefined): Marked => struct?.toJavaScript() ?? {};

const { DIFF_SOME } = messages.DiffResponse.DiffChanges;
const KINDS = Object.entries(messages.PropertyDiff.Kind).map(([name, kind]) => [kind, name] as const);
const kindNames = new Map<unknown, string>(KINDS);

/** The calls that the engine makes for one resource. */
export const resourceCalls = (call: Call, urn = "") => ({
  check: async (news: Marked, olds: Marked = {}) => {
    const fields = { urn, olds, news };
    const answer = await call<messages.CheckResponse>("check", new messages.CheckRequest(), fields);
    const failures: Failure[] = answer.toObject().failuresList;
    return { inputs: valuesOf(answer.getInputs()), failures };
  },
  diff: async (
    id: string,
    olds: Marked,
    news: Marked,
    { oldInputs = olds, ignore = [] }: { oldInputs?: Marked; ignore?: string[] } = {},
  ) => {
    const fields = { urn, id, olds, news, oldInputs, ignorechangesList: ignore };
    const answer = await call<messages.DiffResponse>("diff", new messages.DiffRequest(), fields);
    /** The name of each changed input, and the kind of its change. */
    const detailed: Record<string, string> = {};
    answer.getDetaileddiffMap().forEach((kind, one) => (detailed[one] = kindNames.get(kind.getKind()) ?? ""));
    return {
      changes: answer.getChanges() === DIFF_SOME,
      diffs: answer.getDiffsList(),
      replaces: answer.getReplacesList(),
      detailed,
    };
  },
  create: async (properties: Marked, options: Options = {}) => {
    const fields = { urn, properties, ...options };
    const answer = await call<messages.CreateResponse>("create", new messages.CreateRequest(), fields);
    return { id: answer.getId(), outs: valuesOf(answer.getProperties()) };
  },
  update: async (id: string, olds: Marked, news: Marked, options: Options = {}) => {
    const fields = { urn, id, olds, news, ...options };
    const answer = await call<messages.UpdateResponse>("update", new messages.UpdateRequest(), fields);
    return valuesOf(answer.getProperties());
  },
  /** Returns undefined if the resource is gone. */
  read: async (id: string, properties: Marked = {}, inputs: Marked = {}) => {
    const fields = { urn, id, properties, inputs };
    const answer = await call<messages.ReadResponse>("read", new messages.ReadRequest(), fields);
    if (answer.getId() === "") return undefined;
    const [outs, read] = [answer.getProperties(), answer.getInputs()];
    return { id: answer.getId(), outs: valuesOf(outs), inputs: valuesOf(read) };
  },
  delete: async (id: string, properties: Marked): Promise<void> => {
    await call("delete", new messages.DeleteRequest(), { urn, id, properties });
  },
});

/** The gRPC error of a provider call that must fail. */
export async function failureOf(call: Promise<unknown>): Promise<ServiceError> {
  const outcome: unknown = await call.catch((error: unknown) => error);
  if (outcome instanceof Error && "details" in outcome) return outcome as ServiceError;
  throw new Error("the call did not fail with a gRPC error", { cause: outcome });
}

/** Returns the partial resource, which the engine stores in the state, from a create's or update's error. */
export function partOf(
  error: ServiceError,
): { id: string; properties: Marked; reasons: string[] } | undefined {
  const [details] = error.metadata?.get("grpc-status-details-bin") ?? [];
  if (details === undefined || typeof details === "string") return undefined;
  const [any] = statuses.Status.deserializeBinary(details).getDetailsList();
  const part = messages.ErrorResourceInitFailed.deserializeBinary(any?.getValue_asU8() ?? new Uint8Array());
  return { id: part.getId(), properties: valuesOf(part.getProperties()), reasons: part.getReasonsList() };
}

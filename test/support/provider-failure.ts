import type { ServiceError } from "@grpc/grpc-js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import statuses from "@pulumi/pulumi/proto/status_pb.js";

/** Returns the gRPC error of a provider call that must fail. */
export async function failureOf(call: Promise<unknown>): Promise<ServiceError> {
  const outcome: unknown = await call.catch((error: unknown) => error);
  if (outcome instanceof Error && "details" in outcome) return outcome as ServiceError;
  throw new Error("it did not fail", { cause: outcome });
}

/** Returns the partial state that a failed create or update left, and that the engine keeps. */
export function partOf(
  error: ServiceError,
): { id: string; properties: Record<string, unknown>; reasons: string[] } | undefined {
  const [details] = error.metadata?.get("grpc-status-details-bin") ?? [];
  if (details === undefined || typeof details === "string") return undefined;
  const [any] = statuses.Status.deserializeBinary(details).getDetailsList();
  const part = messages.ErrorResourceInitFailed.deserializeBinary(any?.getValue_asU8() ?? new Uint8Array());
  const properties = part.getProperties()?.toJavaScript() ?? {};
  return { id: part.getId(), properties, reasons: part.getReasonsList() };
}

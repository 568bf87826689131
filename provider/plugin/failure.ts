import { Metadata, status } from "@grpc/grpc-js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import statuses from "@pulumi/pulumi/proto/status_pb.js";
import any from "google-protobuf/google/protobuf/any_pb.js";
import { ApiChatError } from "../errors/index.js";
import { toPlainLines } from "../lib/plain-text.js";
import { describeFailure } from "../lib/provider-process.js";
import type { Redact } from "../lib/redact.js";
import { UnfinishedError } from "../webhook/lifecycle.js";
import type { encodeValues } from "./wire.js";

/** A failure as gRPC takes it. */
export class ServiceError extends Error {
  readonly code = status.UNKNOWN;
  readonly metadata: Metadata;

  constructor(message: string, metadata = new Metadata()) {
    super(message);
    this.metadata = metadata;
  }
}

/**
 * Converts a failure for the engine. Its texts pass through `redact`. For a partially created or updated resource, it
 * includes the state for the engine to keep.
 */
export function toServiceError(
  error: unknown,
  redact: Redact,
  name = "",
  encodeOuts: (outs: object) => ReturnType<typeof encodeValues> | undefined = () => undefined,
): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof UnfinishedError) return toPartlyDone(error, redact, encodeOuts(error.properties));
  if (error instanceof ApiChatError) return new ServiceError(redact(describeFailure(name, error)));
  return new ServiceError(redact(toPlainLines(error instanceof Error ? error.message : String(error))));
}

/** The engine reads the details from this header. */
function toPartlyDone(
  error: UnfinishedError,
  redact: Redact,
  properties: ReturnType<typeof encodeValues> | undefined,
): ServiceError {
  const message = redact(error.message);
  const detail = new messages.ErrorResourceInitFailed()
    .setId(error.id)
    .setProperties(properties)
    .setReasonsList(error.reasons.map(redact));
  const packed = new any.Any();
  packed.pack(detail.serializeBinary(), "pulumirpc.ErrorResourceInitFailed");
  const whole = new statuses.Status().setCode(status.UNKNOWN).setMessage(message).setDetailsList([packed]);
  const metadata = new Metadata();
  metadata.add("grpc-status-details-bin", Buffer.from(whole.serializeBinary()));
  return new ServiceError(message, metadata);
}

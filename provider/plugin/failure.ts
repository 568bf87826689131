import { Metadata, status } from "@grpc/grpc-js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import statuses from "@pulumi/pulumi/proto/status_pb.js";
import any from "google-protobuf/google/protobuf/any_pb.js";
import { ApiChatError } from "../errors/index.js";
import { toPlainLines } from "../lib/plain-text.js";
import type { Redact } from "../lib/redact.js";
import { describeFailure } from "../pulumi/provider-process.js";
import { UnfinishedError } from "../webhook/provider.js";
import type { encodeValues } from "./wire.js";

/** Converts an error for the engine. If the resource was created or updated in part, includes the state to keep. */
export function toServiceError(
  error: unknown,
  redact: Redact,
  name = "",
  encodeOuts: (outs: object) => ReturnType<typeof encodeValues> | undefined = () => undefined,
): Error {
  if (error instanceof Error && "metadata" in error) return error;
  if (error instanceof UnfinishedError) return toPartlyDone(error, redact, encodeOuts(error.properties));
  if (error instanceof ApiChatError) return serviceError(redact(describeFailure(name, error)));
  return serviceError(redact(toPlainLines(error instanceof Error ? error.message : String(error))));
}

const serviceError = (message: string, metadata = new Metadata()): Error =>
  Object.assign(new Error(message), { code: status.UNKNOWN, metadata });

/** The engine reads the details from the header `grpc-status-details-bin`. */
function toPartlyDone(
  error: UnfinishedError,
  redact: Redact,
  properties: ReturnType<typeof encodeValues> | undefined,
): Error {
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
  return serviceError(message, metadata);
}

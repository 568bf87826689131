import { GetParameterCommand, SSMClient } from "@aws-sdk/client-ssm";

const timeLimits = { connectionTimeout: 1_000, requestTimeout: 3_000, throwOnRequestTimeout: true };

const client = new SSMClient({ maxAttempts: 3, requestHandler: timeLimits });

/** Reads and decrypts a SecureString from the Parameter Store. */
export async function readParameter(name: string): Promise<string> {
  const { Parameter } = await client.send(new GetParameterCommand({ Name: name, WithDecryption: true }));
  if (!Parameter?.Value) throw new Error(`the parameter ${name} has no value`);
  return Parameter.Value;
}

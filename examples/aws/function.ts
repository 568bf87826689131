import * as cloudwatch from "@pulumi/aws/cloudwatch/index.js";
import * as iam from "@pulumi/aws/iam/index.js";
import * as lambda from "@pulumi/aws/lambda/index.js";
import * as pulumi from "@pulumi/pulumi";
import { bundleHandler } from "./bundle";

export interface FunctionArgs {
  /** The source file that exports `handler`. */
  handlerPath: string;
  timeoutSeconds: number;
  environment: Record<string, pulumi.Input<string>>;
  /** The permissions of the function, in addition to writing its own log. */
  permissions: Permission[];
}

export interface Permission {
  actions: string[];
  resource: pulumi.Input<string>;
}

const LOG_RETENTION_DAYS = 30;

/** A Lambda function with its own role and log. It is created once its role has its permissions. */
export function createFunction(name: string, args: FunctionArgs): lambda.Function {
  const log = new cloudwatch.LogGroup(name, { retentionInDays: LOG_RETENTION_DAYS });
  const role = new iam.Role(name, {
    assumeRolePolicy: JSON.stringify({
      Version: "2012-10-17",
      Statement: [
        { Effect: "Allow", Action: "sts:AssumeRole", Principal: { Service: "lambda.amazonaws.com" } },
      ],
    }),
  });
  const writeLog: Permission = {
    actions: ["logs:CreateLogStream", "logs:PutLogEvents"],
    resource: pulumi.interpolate`${log.arn}:*`,
  };
  const policy = new iam.RolePolicy(name, {
    role: role.name,
    policy: pulumi.jsonStringify({
      Version: "2012-10-17",
      Statement: [writeLog, ...args.permissions].map(({ actions, resource }) => ({
        Effect: "Allow",
        Action: actions,
        Resource: resource,
      })),
    }),
  });
  return new lambda.Function(
    name,
    {
      runtime: lambda.Runtime.NodeJS24dX,
      architectures: ["arm64"],
      memorySize: 256,
      handler: "index.handler",
      code: bundleHandler(args.handlerPath),
      timeout: args.timeoutSeconds,
      role: role.arn,
      environment: { variables: args.environment },
      loggingConfig: { logFormat: "JSON", logGroup: log.name },
    },
    { dependsOn: policy },
  );
}

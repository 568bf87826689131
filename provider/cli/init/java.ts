import {
  comment,
  gitignore,
  NOTES,
  packageJson,
  PACKAGES,
  projectYaml,
  WORKSPACE,
  type Program,
  type ProgramOptions,
} from "./program.js";

export const javaProgram = (options: ProgramOptions): Program => ({
  files: {
    "package.json": packageJson(options),
    "Pulumi.yaml": projectYaml(options, "java", PACKAGES),
    "pom.xml": pomXml(options.name),
    "src/main/java/example/App.java":
      options.webhookUrl === undefined ? WITH_RESPONDER : withEndpoint(options.webhookUrl),
    ".gitignore": gitignore("sdks/", "target/"),
  },
  install: ["npm install", "pulumi install"],
});

const dependency = (groupId: string, artifactId: string, version: string): string => `    <dependency>
      <groupId>${groupId}</groupId>
      <artifactId>${artifactId}</artifactId>
      <version>${version}</version>
    </dependency>
`;

const pomXml = (name: string): string => `<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId>
  <artifactId>${name}</artifactId>
  <version>1.0</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
${dependency("com.pulumi", "pulumi", "1.16.1")}${dependency("com.google.code.gson", "gson", "2.8.9")}${dependency("com.google.code.findbugs", "jsr305", "3.0.2")}  </dependencies>
  <build>
    <plugins>
      <!-- The generated SDK is compiled with the program: it is not in a repository. -->
      <plugin>
        <groupId>org.codehaus.mojo</groupId>
        <artifactId>build-helper-maven-plugin</artifactId>
        <version>3.6.0</version>
        <executions>
          <execution>
            <id>sdk</id>
            <phase>generate-sources</phase>
            <goals>
              <goal>add-source</goal>
              <goal>add-resource</goal>
            </goals>
            <configuration>
              <sources>
                <source>sdks/apichat/src/main/java</source>
              </sources>
              <resources>
                <resource>
                  <directory>sdks/apichat/src/main/resources</directory>
                </resource>
              </resources>
            </configuration>
          </execution>
        </executions>
      </plugin>
      <plugin>
        <groupId>org.codehaus.mojo</groupId>
        <artifactId>exec-maven-plugin</artifactId>
        <version>3.5.0</version>
        <configuration>
          <mainClass>example.App</mainClass>
        </configuration>
      </plugin>
    </plugins>
  </build>
</project>
`;

const toApp = (imports: readonly string[], body: string, keyExport = ""): string => `package example;

import com.pulumi.Pulumi;
${imports.map((name) => `import ${name};\n`).join("")}
public class App {
    public static void main(String[] args) {
        Pulumi.run(ctx -> {
${body}
            ctx.export("bot_url", webhook.botUrl()); // ${NOTES.botUrl}
            ctx.export("status", webhook.status()); // ${NOTES.status}
${keyExport}        });
    }
}
`;

const SDK = "com.pulumi.apichat";

const WITH_RESPONDER = toApp(
  [
    ...["ApiChatWebhook", "ApiChatWebhookArgs", "Responder", "ResponderArgs", "VerificationKey"].map(
      (name) => `${SDK}.${name}`,
    ),
    `${SDK}.inputs.ResponderWorkspaceArgs`,
    "java.util.Map",
  ],
  `${comment("            //", NOTES.key)}
            var key = new VerificationKey("key");

${comment("            //", NOTES.responder)}
            var accepted = ResponderWorkspaceArgs.builder()
                .verificationKeys(key.keys())
                .build();
            var responder = new Responder("responder", ResponderArgs.builder()
                .workspaces(Map.of("${WORKSPACE}", accepted))
                .build());

${comment("            //", NOTES.webhook)}
            var webhook = new ApiChatWebhook("webhook", ApiChatWebhookArgs.builder()
                .webhookUrl(responder.urls().applyValue(urls -> urls.get("${WORKSPACE}")))
                .webhookVerificationKey(key.current())
                .build());
`,
  `            ctx.export("verification_key", key.current()); // ${NOTES.sharedKey}
`,
);

const withEndpoint = (webhookUrl: string): string =>
  toApp(
    [`${SDK}.ApiChatWebhook`, `${SDK}.ApiChatWebhookArgs`],
    `            // ${NOTES.endpointKey}
            var verificationKey = ctx.config().requireSecret("verificationKey");

${comment("            //", NOTES.webhook)}
            var webhook = new ApiChatWebhook("webhook", ApiChatWebhookArgs.builder()
                .webhookUrl(${JSON.stringify(webhookUrl)})
                .webhookVerificationKey(verificationKey)
                .build());
`,
  );

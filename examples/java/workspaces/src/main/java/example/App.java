package example;

import com.pulumi.Pulumi;
import com.pulumi.apichat.ApiChatWebhook;
import com.pulumi.apichat.ApiChatWebhookArgs;
import com.pulumi.apichat.Responder;
import com.pulumi.apichat.ResponderArgs;
import com.pulumi.apichat.VerificationKey;
import com.pulumi.apichat.inputs.ResponderWorkspaceArgs;
import com.pulumi.core.Output;
import java.util.LinkedHashMap;
import java.util.Map;

public class App {
    public static void main(String[] args) {
        Pulumi.run(ctx -> {
            var config = ctx.config();
            var names = config.requireObject("workspaces", String[].class);
            var platform = config.require("platform");

            Map<String, VerificationKey> keys = new LinkedHashMap<>();
            Map<String, ResponderWorkspaceArgs> accepted = new LinkedHashMap<>();
            for (var name : names) {
                var key = new VerificationKey(name);
                keys.put(name, key);
                accepted.put(name, ResponderWorkspaceArgs.builder()
                    .verificationKeys(key.keys())
                    .build());
            }

            // One process for all workspaces. A service that is not on this machine needs publicUrl: the tunnel or reverse proxy that
            // leads here.
            var responder = new Responder("responder", ResponderArgs.builder().workspaces(accepted).build());

            Map<String, Output<String>> botUrls = new LinkedHashMap<>();
            Map<String, Output<String>> statuses = new LinkedHashMap<>();
            keys.forEach((name, key) -> {
                // One API key for all workspaces, from the configuration: apichat:apiKey.
                var webhook = new ApiChatWebhook(name, ApiChatWebhookArgs.builder()
                    .baseUrl(platform + "/" + name + "/apichat")
                    .webhookUrl(responder.urls().applyValue(urls -> urls.get(name)))
                    .webhookVerificationKey(key.current())
                    .build());
                botUrls.put(name, webhook.botUrl());
                statuses.put(name, webhook.status());
            });

            ctx.export("bot_url", Output.of(botUrls));
            ctx.export("status", Output.of(statuses));
        });
    }
}

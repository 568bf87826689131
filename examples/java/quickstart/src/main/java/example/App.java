package example;

import com.pulumi.Pulumi;
import com.pulumi.apichat.ApiChatWebhook;
import com.pulumi.apichat.ApiChatWebhookArgs;
import com.pulumi.apichat.Responder;
import com.pulumi.apichat.ResponderArgs;
import com.pulumi.apichat.VerificationKey;
import com.pulumi.apichat.inputs.ResponderWorkspaceArgs;
import java.util.Map;

public class App {
    public static void main(String[] args) {
        Pulumi.run(ctx -> {
            // The shared key for handshakes and deliveries. It is stored encrypted in the stack's state.
            var key = new VerificationKey("key");

            // For development: a process on this machine that keeps running after pulumi up and stores each delivery. Set the URL
            // of your program as the forwarding target, or register your own endpoint instead.
            var accepted = ResponderWorkspaceArgs.builder()
                .verificationKeys(key.keys())
                .build();
            var responder = new Responder("responder", ResponderArgs.builder()
                .workspaces(Map.of("acme", accepted))
                .build());

            // The workspace's address is in Pulumi.yaml, the API key in the stack's configuration as apichat:apiKey.
            var webhook = new ApiChatWebhook("webhook", ApiChatWebhookArgs.builder()
                .webhookUrl(responder.urls().applyValue(urls -> urls.get("acme")))
                .webhookVerificationKey(key.current())
                .build());

            ctx.export("bot_url", webhook.botUrl()); // where to post your contacts' messages
            ctx.export("status", webhook.status()); // "verified"
            ctx.export("verification_key", key.current()); // a secret, for apichat verify and apichat listen
        });
    }
}

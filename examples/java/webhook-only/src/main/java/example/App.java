package example;

import com.pulumi.Pulumi;
import com.pulumi.apichat.ApiChatWebhook;
import com.pulumi.apichat.ApiChatWebhookArgs;

public class App {
    public static void main(String[] args) {
        Pulumi.run(ctx -> {
            // Your endpoint's key.
            var verificationKey = ctx.config().requireSecret("verificationKey");

            // The addresses are in Pulumi.yaml, the API key in the stack's configuration as apichat:apiKey.
            var webhook = new ApiChatWebhook("webhook", ApiChatWebhookArgs.builder()
                .webhookUrl(ctx.config().require("webhookUrl"))
                .webhookVerificationKey(verificationKey)
                .build());

            ctx.export("bot_url", webhook.botUrl()); // where to post your contacts' messages
            ctx.export("status", webhook.status()); // "verified"
        });
    }
}

package example;

import com.google.gson.Gson;
import com.pulumi.Pulumi;
import com.pulumi.core.Output;
import com.pulumi.resources.StackReference;
import java.util.Map;

public class App {
    public static void main(String[] args) {
        Pulumi.run(ctx -> {
            var workspaces = new StackReference(ctx.config().require("workspacesStack"));
            var botUrls = workspaces.requireOutput("bot_url");

            ctx.export("bot_url", botUrls);
            // Environment variables for a service that posts messages: pass them to your container or function.
            ctx.export("environment", Output.of(Map.of("APICHAT_BOT_URLS", botUrls.applyValue(new Gson()::toJson))));
        });
    }
}

package example;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.javalin.Javalin;
import io.javalin.http.Context;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** An endpoint of the API Channel, with Javalin. The rules are those of docs/guide/endpoint.md. */
public class App {
    private static final List<String> KEYS =
        Stream.of("APICHAT_VERIFICATION_KEY", "APICHAT_EARLIER_VERIFICATION_KEY")
            .map(name -> System.getenv().getOrDefault(name, ""))
            .filter(key -> !key.isEmpty())
            .toList();

    public static void main(String[] args) {
        if (KEYS.isEmpty()) throw new IllegalStateException("APICHAT_VERIFICATION_KEY is not set");
        Javalin.create(config -> {
            config.http.maxRequestSize = 8 << 20; // in bytes; the default is less than 1 MiB
            config.routes.post("/webhooks/apichat", App::webhook);
        }).start("127.0.0.1", Integer.parseInt(System.getenv().getOrDefault("PORT", "8080")));
    }

    /** STORE HERE: write the delivery to a database or queue, and do its work later (rules 7, 8). */
    private static void store(byte[] body) {
        System.out.println(new String(body, UTF_8));
    }

    private static void webhook(Context ctx) throws Exception {
        // The bytes as received, except for a multipart form: after reading them, its fields could not be read.
        byte[] body = ctx.isMultipartFormData() ? null : ctx.bodyAsBytes();
        Function<String, String> field = readFields(ctx, body);
        boolean isHandshake = "subscribe".equals(field.apply("hub_mode")); // rule 1
        for (String key : KEYS) { // rule 6
            if (isHandshake && equal(field.apply("hub_verify_token"), key)) { // rule 2
                ctx.contentType("text/plain; charset=utf-8").result(field.apply("hub_challenge")); // rule 3
                return;
            }
            if (!isHandshake && body != null && equal(ctx.header("X-Hub-Signature-256"), sign(key, body))) { // rule 4
                store(body);
                return; // rule 5
            }
        }
        ctx.status(401);
    }

    /** Where the parameters of a handshake may be: JSON, a form or the query. */
    private static Function<String, String> readFields(Context ctx, byte[] body) throws Exception {
        if (body == null) return ctx::formParam;
        if (body.length > 8192) return ctx::queryParam;
        try {
            var object = new ObjectMapper().readTree(body);
            if (object.has("hub_mode")) return name -> object.path(name).asText();
        } catch (JacksonException error) {
            // Not JSON.
        }
        return ctx.formParam("hub_mode") == null ? ctx::queryParam : ctx::formParam;
    }

    private static String sign(String key, byte[] body) throws GeneralSecurityException {
        var mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key.getBytes(UTF_8), "HmacSHA256"));
        return "sha256=" + HexFormat.of().formatHex(mac.doFinal(body));
    }

    /** In constant time. */
    private static boolean equal(String given, String expected) {
        return given != null && MessageDigest.isEqual(given.getBytes(UTF_8), expected.getBytes(UTF_8));
    }
}

// An endpoint of the API Channel, with a minimal API of ASP.NET Core. The rules are those of docs/guide/endpoint.md.
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;

string[] names = ["APICHAT_VERIFICATION_KEY", "APICHAT_EARLIER_VERIFICATION_KEY"];
var keys = names.Select(name => Environment.GetEnvironmentVariable(name) ?? "").Where(key => key != "").ToArray();
if (keys.Length == 0) throw new InvalidOperationException("APICHAT_VERIFICATION_KEY is not set");

var app = WebApplication.Create(args);
app.MapPost("/webhooks/apichat", async (HttpRequest request) =>
{
    using var buffer = new MemoryStream();
    await request.Body.CopyToAsync(buffer);
    var body = buffer.ToArray(); // the bytes as received
    request.Body = new MemoryStream(body); // for a form
    var fields = await ReadFields(request, body);
    var isHandshake = fields.GetValueOrDefault("hub_mode") == "subscribe"; // rule 1
    var signature = request.Headers["X-Hub-Signature-256"].ToString();
    foreach (var key in keys) // rule 6
    {
        if (isHandshake && AreEqual(fields.GetValueOrDefault("hub_verify_token", ""), key)) // rule 2
            return Results.Text(fields.GetValueOrDefault("hub_challenge", "")); // rule 3
        if (!isHandshake && AreEqual(signature, Sign(key, body))) // rule 4
        {
            await Store(body);
            return Results.Ok(); // rule 5
        }
    }
    return Results.Unauthorized();
});
app.Run($"http://127.0.0.1:{Environment.GetEnvironmentVariable("PORT") ?? "8080"}");

// STORE HERE: write the delivery to a database or queue, and do its work later (rules 7, 8).
static Task Store(byte[] body) => Console.Out.WriteLineAsync(Encoding.UTF8.GetString(body));

static string Sign(string key, byte[] body) =>
    "sha256=" + Convert.ToHexString(HMACSHA256.HashData(Encoding.UTF8.GetBytes(key), body)).ToLowerInvariant();

// In constant time.
static bool AreEqual(string given, string expected) =>
    CryptographicOperations.FixedTimeEquals(Encoding.UTF8.GetBytes(given), Encoding.UTF8.GetBytes(expected));

// Where the parameters of a handshake may be: the query, JSON or a form.
static async Task<Dictionary<string, string>> ReadFields(HttpRequest request, byte[] body)
{
    try
    {
        if (request.Query.ContainsKey("hub_mode") || body.Length > 8192)
            return request.Query.ToDictionary(field => field.Key, field => field.Value.ToString());
        if (body.FirstOrDefault() == '{')
        {
            using var json = JsonDocument.Parse(body);
            var properties = json.RootElement.EnumerateObject().DistinctBy(property => property.Name);
            return properties.ToDictionary(property => property.Name, property => property.Value.ToString());
        }
        if (!request.HasFormContentType) return new();
        return (await request.ReadFormAsync()).ToDictionary(field => field.Key, field => field.Value.ToString());
    }
    catch (Exception error) when (error is JsonException or InvalidDataException or IOException)
    {
        return new(); // neither JSON nor a form
    }
}

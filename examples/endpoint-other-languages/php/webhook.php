<?php
// An endpoint of the API Channel, without a framework. The rules are those of docs/guide/endpoint.md.

declare(strict_types=1);

/** STORE HERE: write the delivery to a database or queue, and do its work later (rules 7, 8). */
function store(string $body): void
{
    error_log($body);
}

function sign(string $key, string $body): string
{
    return 'sha256=' . hash_hmac('sha256', $body, $key);
}

/** The fields that may have the parameters of a handshake: of the query, a form or JSON. */
function readFields(string $body): array
{
    $json = strlen($body) <= 8192 ? json_decode($body, true) : null;
    foreach ([$_GET, $_POST, is_array($json) ? $json : []] as $fields) {
        if (isset($fields['hub_mode'])) {
            return array_filter($fields, is_string(...));
        }
    }
    return [];
}

$keys = array_filter([getenv('APICHAT_VERIFICATION_KEY'), getenv('APICHAT_EARLIER_VERIFICATION_KEY')]);
$body = file_get_contents('php://input'); // the bytes as received
$fields = readFields($body);
$isHandshake = ($fields['hub_mode'] ?? '') === 'subscribe'; // rule 1

foreach ($keys as $key) { // rule 6
    if ($isHandshake && hash_equals($key, $fields['hub_verify_token'] ?? '')) { // rule 2
        header('Content-Type: text/plain; charset=utf-8');
        exit($fields['hub_challenge'] ?? ''); // rule 3
    }
    if (!$isHandshake && hash_equals(sign($key, $body), $_SERVER['HTTP_X_HUB_SIGNATURE_256'] ?? '')) { // rule 4
        store($body);
        exit; // rule 5: 200
    }
}
http_response_code(401);

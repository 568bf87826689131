// An endpoint of the API Channel, with the standard library only. The rules are those of docs/guide/endpoint.md.
package main

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
)

var keys = slices.DeleteFunc(
	[]string{os.Getenv("APICHAT_VERIFICATION_KEY"), os.Getenv("APICHAT_EARLIER_VERIFICATION_KEY")},
	func(key string) bool { return key == "" },
)

// STORE HERE: write the delivery to a database or queue, and do its work later (rules 7, 8).
func store(body []byte) error {
	_, err := fmt.Printf("%s\n", body)
	return err
}

func webhook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20)) // the bytes as received
	if err != nil {
		http.Error(w, "cannot read the body", http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	field := r.FormValue // of a form or the query
	var object map[string]string
	if len(body) <= 8192 && json.Unmarshal(body, &object) == nil && object["hub_mode"] != "" {
		field = func(name string) string { return object[name] }
	}
	isHandshake := field("hub_mode") == "subscribe" // rule 1
	for _, key := range keys {                      // rule 6
		if isHandshake && equal(field("hub_verify_token"), key) { // rule 2
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			io.WriteString(w, field("hub_challenge")) // rule 3
			return
		}
		if !isHandshake && equal(r.Header.Get("X-Hub-Signature-256"), sign(key, body)) { // rule 4
			if err := store(body); err != nil {
				http.Error(w, "cannot store the delivery", http.StatusInternalServerError)
			}
			return // rule 5
		}
	}
	w.WriteHeader(http.StatusUnauthorized)
}

func sign(key string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(body)
	return fmt.Sprintf("sha256=%x", mac.Sum(nil))
}

// equal compares in constant time.
func equal(given, expected string) bool { return hmac.Equal([]byte(given), []byte(expected)) }

func main() {
	if len(keys) == 0 {
		log.Fatal("APICHAT_VERIFICATION_KEY is not set")
	}
	http.HandleFunc("POST /webhooks/apichat", webhook)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "8080"), nil))
}

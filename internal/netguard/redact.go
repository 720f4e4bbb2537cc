package netguard

import (
	"net/http"
	"strings"
)

// shortestSecret is the shortest value searched for: shorter ones would blot out ordinary text.
const shortestSecret = 6

// Redact replaces the values of a header, and the parts after a scheme such as Bearer, wherever a server has repeated
// them.
func Redact(text string, header http.Header) string {
	for _, values := range header {
		for _, value := range values {
			if _, credential, ok := strings.Cut(value, " "); ok {
				text = redact(text, credential)
			}
			text = redact(text, value)
		}
	}
	return text
}

func redact(text, secret string) string {
	if len(secret) < shortestSecret {
		return text
	}
	return strings.ReplaceAll(text, secret, "[redacted]")
}

package wire

import (
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

const hidden = "[redacted]"

// shortestSecret is the length in bytes from which a credential is searched for by its text; a shorter one would black
// out ordinary words.
const shortestSecret = 6

// Things that look like credentials. Providers repeat the key they were sent,
// whole or with stars in it, in several wordings.
//
//nolint:gochecknoglobals // compiled once, never changed
var credentials = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(?i)\b(bearer|authorization["']?\s*[:=]\s*["']?basic)\s+[^\s"',;]+`), "$1 " + hidden},
	{regexp.MustCompile(`\b(?:sk|pk|rk|gsk|xai|hf|ghp|glpat|AIza)[-_][-_*.A-Za-z0-9/+=]{4,}`), hidden},
	{regexp.MustCompile(`\b(?:AIza|AKIA|eyJ|ghp_|hf_)[-_*.A-Za-z0-9/+=]{8,}`), hidden},
	{
		regexp.MustCompile(
			`(?i)((?:api|access|secret|auth|private|subscription)[-_ ]?(?:key|token)|authorization|password|` +
				`secret)(["']?\s*[:=]\s*["']?)[^\s"'&,;<>)]+`,
		),
		"$1$2" + hidden,
	},
	{regexp.MustCompile(`(?i)\b(key|token|signature)=[^\s"'&]+`), "$1=" + hidden},
	{
		regexp.MustCompile(
			`(?i)((?:api|access|secret)[-_ ]?(?:key|token)s?\b[^.;\n]{0,40}?[\s:='"(\[])[-_*A-Za-z0-9/+=]{16,}`,
		),
		"$1" + hidden,
	},
	{regexp.MustCompile(`://[^/\s:@"']+:[^/\s@"']+@`), "://" + hidden + "@"},
}

// Redact removes credentials from a text that people or logs may see: the given secrets, plain or escaped for a URL,
// and whatever looks like one. The result is valid UTF-8.
func Redact(text string, secrets ...string) string {
	for _, secret := range secrets {
		if len(secret) >= shortestSecret {
			text = strings.NewReplacer(secret, hidden, url.QueryEscape(secret), hidden, url.PathEscape(secret), hidden).
				Replace(text)
		}
	}
	for _, c := range credentials {
		text = c.pattern.ReplaceAllString(text, c.with)
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	return text
}

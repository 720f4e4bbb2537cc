package wire_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.org/parley/llm/wire"
)

func TestRedact(t *testing.T) {
	const own = "own-credential-1"
	hidden := []struct{ text, secret string }{
		{"the key " + own + " is wrong", own},
		{"Incorrect API key provided: sk-ab12****************wxyz. You can", "wxyz"},
		{"Incorrect API key provided: abcd1234****wxyz. You can", "wxyz"},
		{"sk-proj-AbC_12-345 refused", "AbC_12"},
		{"Authorization: Bearer abc.def", "abc.def"},
		{`{"authorization":"Bearer abc.def"}`, "abc.def"},
		{"authorization: Basic dTpw", "dTpw"},
		{"x-api-key: short1", "short1"},
		{`"x-api-key": "short1"`, "short1"},
		{"GET https://host/v1?key=short1&x=2", "short1"},
		{"api_key=short1", "short1"},
		{"Invalid API key supplied (0123456789abcdef0123)", "0123456789abcdef0123"},
		{"https://user:passw@host/", "passw"},
		{"token AIzaSyA-1234567890", "SyA-1234567890"},
		{"jwt eyJhbGciOi.eyJzdWIi.c2ln", "eyJzdWIi"},
	}
	for _, c := range hidden {
		if got := wire.Redact(c.text, own); strings.Contains(got, c.secret) || !strings.Contains(got, "[redacted]") {
			t.Errorf("%q became %q", c.text, got)
		}
	}
	const spelled = "own+credential/2=="
	for _, text := range []string{"bad " + spelled, "at https://host/?k=" + url.QueryEscape(spelled),
		"at https://host/" + url.PathEscape(spelled) + "/x"} {
		if got := wire.Redact(
			text,
			spelled,
		); strings.Contains(got, "credential") ||
			!strings.Contains(got, "[redacted]") {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, plain := range []string{
		"prompt is too long: 208310 tokens > 200000 maximum",
		"The model `gpt-5` does not exist or you do not have access to it.",
		"Rate limit reached for gpt-5 in organization on tokens per min (TPM): Limit 30000, Used 29000",
		"skip_special_tokens is not supported", "Unknown key: 'foo'", "unexpected token: }", "pkg-config, keyword-only",
		"a basic plan",
		"invalid x-api-key", "dial tcp 127.0.0.1:1: connect: connection refused", "max_tokens: 5 is too small",
	} {
		if got := wire.Redact(plain, own, "", "max"); got != plain {
			t.Errorf("%q became %q", plain, got)
		}
	}
	if got := wire.Redact("a\xffb"); !utf8.ValidString(got) {
		t.Errorf("%q is not UTF-8", got)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	cases := []struct {
		name    string
		headers []string
		want    time.Duration
	}{
		{"none", nil, 0},
		{"seconds", []string{"Retry-After", "20"}, 20 * time.Second},
		{"fraction", []string{"Retry-After", "0.5"}, 500 * time.Millisecond},
		{"milliseconds first", []string{"Retry-After", "20", "Retry-After-Ms", "70"}, 70 * time.Millisecond},
		{"date by our clock", []string{"Retry-After", "Sat, 21 Nov 2026 12:01:00 GMT"}, time.Minute},
		{
			"date by theirs",
			[]string{"Retry-After", "Sat, 21 Nov 2026 12:01:00 GMT", "Date", "Sat, 21 Nov 2026 12:00:50 GMT"},
			10 * time.Second,
		},
		{"past", []string{"Retry-After", "Sat, 21 Nov 2026 11:00:00 GMT"}, 0},
		{"negative", []string{"Retry-After", "-5"}, 0},
		{"absurd", []string{"Retry-After", "1e300"}, 24 * time.Hour},
		{"no number", []string{"Retry-After", "NaN"}, 0},
		{"words", []string{"Retry-After", "soon"}, 0},
	}
	for _, c := range cases {
		h := http.Header{}
		for i := 0; i < len(c.headers); i += 2 {
			h.Set(c.headers[i], c.headers[i+1])
		}
		if got := wire.RetryAfter(h, now); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

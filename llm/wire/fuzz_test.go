package wire_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.org/parley/llm/wire"
)

// FuzzScanner: the scanner accepts the JSON that the standard library accepts, except for deep nesting.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{`{"a":[1,-2.5e3,"\ud83d\ude00",null,true]}`, `[`, `"\u00`, `{"a"}`, `01`,
		strings.Repeat("[", 20_000), strings.Repeat(`{"a":`, 5000)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s wire.Scanner
		s.Reset(raw)
		s.Skip()
		if s.Valid() && !json.Valid(raw) && utf8.Valid(raw) {
			t.Errorf("%q is accepted as JSON", raw)
		}
	})
}

// FuzzFailure: every report of a failure is classified, and no secret repeated.
func FuzzFailure(f *testing.F) {
	f.Add(
		400,
		[]byte(`{"error":{"message":"key sk-own-credential-1 is wrong","code":"x"}}`),
		"20",
		"Sat, 21 Nov 2026 12:01:00 GMT",
	)
	f.Add(429, []byte(`[{"error":"slow down"}]`), "1e300", "")
	f.Add(500, []byte("\xff<html>"), "-1", "NaN")
	f.Add(0, []byte(strings.Repeat(`{"error":`, 5000)+"1"+strings.Repeat("}", 5000)), "", "")
	f.Fuzz(func(t *testing.T, status int, body []byte, after, date string) {
		const secret = "sk-own-credential-1"
		failure := wire.ParseFailure(body)
		failure.Status = status
		failure.RetryAfter = wire.RetryAfter(
			http.Header{"Retry-After": {after}, "Date": {date}, "Retry-After-Ms": {date}},
			time.Unix(0, 0),
		)
		if failure.RetryAfter < 0 {
			t.Errorf("a wait of %s", failure.RetryAfter)
		}
		if e := wire.Classify(
			failure,
			secret,
		); e.Class == "" || !utf8.ValidString(e.Message) ||
			strings.Contains(e.Message, secret) {
			t.Errorf("%q became %+v", body, e)
		}
	})
}

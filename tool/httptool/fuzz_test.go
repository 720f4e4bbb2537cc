package httptool

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzEndpoint: a configured address and a model's arguments make a request to the configured host, or none.
func FuzzEndpoint(f *testing.F) {
	f.Add("https://api.example.com/users/{id}?lang={lang}", "POST", []byte(`{"id":"..%2f","lang":["a",1],"x":null}`))
	f.Add("http://[::1]:80/{a}", "GET", []byte(`{"a":"\u0000","b":{"c":1}}`))
	f.Add("https://h?{q}", "DELETE", []byte(`{"q":1e400}`))
	f.Fuzz(func(t *testing.T, address, method string, arguments []byte) {
		e, err := newEndpoint(
			Config{
				Name:        "t",
				Description: "d",
				URL:         address,
				Method:      method,
				Parameters:  json.RawMessage(`{"type":"object","properties":{"id":{},"lang":{},"a":{},"q":{}}}`),
			},
		)
		if err != nil {
			return
		}
		request, err := e.request(t.Context(), arguments)
		if err != nil {
			return
		}
		if request.URL.Scheme != e.url.origin.Scheme || request.URL.Host != e.url.origin.Host {
			t.Errorf("%q with %s asks %s", address, arguments, request.URL)
		}
	})
}

// FuzzAnswer: an endpoint's answer reaches the model as JSON, or is an error.
func FuzzAnswer(f *testing.F) {
	f.Add("application/json", `{"a":1}`)
	f.Add("application/problem+json; charset=x", `{`)
	f.Add("text/html;;", "\xff")
	f.Fuzz(func(t *testing.T, contentType, text string) {
		if shown := bodyOf(contentType, text); utf8.ValidString(text) && !json.Valid(shown) { // else it is a file
			t.Errorf("%q of %q became %s", text, contentType, shown)
		}
	})
}

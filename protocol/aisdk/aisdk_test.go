package aisdk

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"example.org/parley"
)

// TestVersions: a client names its major version in the header or the query; unknown ones are refused, and none means
// the oldest.
func TestVersions(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]int{
		"": 5, "5": 5, "6": 6, "7": 7, "v7": 7, "6.0.326": 6, "4": 0, "8": 0, "55": 0, "x": 0, "-5": 0,
	} {
		for name, r := range map[string]*http.Request{
			"header": httptest.NewRequest(http.MethodGet, "/", nil),
			"query":  httptest.NewRequest(http.MethodGet, "/?version="+given, nil),
		} {
			if name == "header" {
				r.Header.Set(VersionHeader, given)
			}
			got, err := version(r)
			if got != want || (err == nil) != (want != 0) {
				t.Errorf("%s %q is version %d, %v; want %d", name, given, got, err, want)
			}
		}
	}
}

// TestRequestsAreBounded: what no client sends is refused with the field's name before anything is stored.
func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	many := func(n int, one string) string { return "[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]" }
	hello := `{"id":"m","role":"user","parts":[{"type":"text","text":"Hello"}]}`
	for _, c := range []struct{ name, body, field string }{
		{"no messages", `{"id":"c"}`, "messages"},
		{"too many messages", `{"messages":` + many(maxMessages+1, `{}`) + `}`, "messages"},
		{"too many tools", `{"messages":[` + hello + `],"tools":` + many(maxTools+1, `{}`) + `}`, "tools"},
		{"an unknown trigger", `{"messages":[` + hello + `],"trigger":"resume-stream"}`, "trigger"},
		{"a wrong type", `{"messages":[` + hello + `],"model":7}`, "model"},
		{"a name twice", `{"messages":[` + hello + `],"id":"a","id":"b"}`, ""},
		{"no object", `[]`, ""},
	} {
		if _, err := decode([]byte(c.body)); parley.ErrorCode(err) != parley.CodeInvalid || fieldOf(err) != c.field {
			t.Errorf("%s: %v; want an error about %q", c.name, err, c.field)
		}
	}
	m := message{Parts: json.RawMessage(many(maxParts+1, `{"type":"text"}`))}
	if _, err := m.read(); parley.ErrorCode(err) != parley.CodeInvalid {
		t.Errorf("an answer of too many parts: %v", err)
	}
}

func fieldOf(err error) string {
	var known *parley.Error
	if errors.As(err, &known) {
		return known.Field
	}
	return ""
}

// TestAnswersHaveThePartsOfTheirVersion: a denied call is an error for clients that know no approvals.
func TestAnswersHaveThePartsOfTheirVersion(t *testing.T) {
	t.Parallel()
	no := false
	denied := part{Type: partDynamic, CallID: "c", State: stateDenied, Approval: &approval{ID: "a", Approved: &no}}
	if got := denied.known(6); got.State != stateDenied || got.Approval == nil {
		t.Errorf("version 6 gets %+v", got)
	}
	if got := denied.known(5); got.State != stateError || got.ErrorText == "" || got.Approval != nil {
		t.Errorf("version 5 gets %+v", got)
	}
	if denied.State != stateDenied {
		t.Error("the part itself was changed")
	}
}

// FuzzRequest: any body is a request or an error, and so are the parts of its last message.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"id":"c","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"Hello"}]}]}`))
	f.Add([]byte(`{"messages":[{"role":"assistant","parts":[{"type":"tool-x","toolCallId":"1",` +
		`"state":"output-available","output":null,"approval":{"id":"a","approved":true},` +
		`"providerMetadata":{"parley":{"message":"x"}}}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := decode(body)
		if err != nil {
			return
		}
		parts, err := r.last().read()
		if err != nil {
			return
		}
		for i := range parts {
			p := parts[i].known(oldest)
			if _, err := parley.EncodeJSON(p); err != nil && json.Valid(p.Input) && json.Valid(p.Output) {
				t.Errorf("%+v cannot be written: %v", p, err)
			}
		}
		r.settings(&parley.Agent{})
	})
}

// Not parallel: it counts what it allocates.
func TestPartsAreCountedBeforeTheyAreRead(t *testing.T) {
	const items, most = 500_000, 128 << 20
	m := message{Parts: json.RawMessage("[null" + strings.Repeat(",null", items) + "]")}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := m.read()
	runtime.ReadMemStats(&after)
	if parley.ErrorCode(err) != parley.CodeInvalid {
		t.Errorf("%d parts: %v", items, err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > most {
		t.Errorf("%d parts take %d bytes before they are refused, want at most %d", items, took, most)
	}
}

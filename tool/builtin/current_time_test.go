package builtin

import (
	"encoding/json"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/tool"
)

func TestCurrentTime(t *testing.T) {
	instant := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	source := sourceOf(currentTime{now: func() time.Time { return instant }})
	for _, c := range []struct {
		name, arguments, want string
		code                  parley.Code
	}{
		{"no arguments", `{}`, `{"time":"2026-03-04T05:06:07Z","timezone":"UTC"}`, ""},
		{"null zone", `{"timezone":null}`, `{"time":"2026-03-04T05:06:07Z","timezone":"UTC"}`, ""},
		{"a zone", `{"timezone":"Asia/Tokyo"}`, `{"time":"2026-03-04T14:06:07+09:00","timezone":"Asia/Tokyo"}`, ""},
		{"no such zone", `{"timezone":"Mars/Base"}`, "", parley.CodeInvalid},
		{"the machine's own zone", `{"timezone":"Local"}`, "", parley.CodeInvalid},
		{"the machine's own zone, as a file", `{"timezone":"localtime"}`, "", parley.CodeInvalid},
		{"a path", `{"timezone":"../../etc/passwd"}`, "", parley.CodeInvalid},
		{"an unknown argument", `{"zone":"UTC"}`, "", parley.CodeInvalid},
		{"no object", `[]`, "", parley.CodeInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			one, ok := source.Tool("current_time")
			if !ok {
				t.Fatal("current_time is missing")
			}
			got, err := one.Call(t.Context(), tool.Call{Arguments: json.RawMessage(c.arguments)})
			if parley.ErrorCode(err) != c.code || string(got.JSON) != c.want {
				t.Errorf("got %s, %v; want %s, code %q", got.JSON, err, c.want, c.code)
			}
		})
	}
}

func TestToolsAreWellFormed(t *testing.T) {
	names := map[string]bool{}
	for _, tool := range Tools().Tools() {
		definition := tool.Definition()
		canonical, err := parley.CanonicalJSON(definition.Parameters)
		if err != nil || string(canonical) != string(definition.Parameters) {
			t.Errorf("%s: the parameters are not canonical JSON: %s (%v)", definition.Name, canonical, err)
		}
		if definition.Name == "" || definition.Description == "" || names[definition.Name] {
			t.Errorf("%q: a tool needs a description and a name of its own", definition.Name)
		}
		names[definition.Name] = true
	}
	if _, ok := Tools().Tool("no such tool"); ok {
		t.Error("a tool was found that does not exist")
	}
}

package parley_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/parley"
)

func TestSlugify(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, want string }{
		{"Research Assistant", "research-assistant"},
		{"  --A__b!! ", "a-b"},
		{"Ärzte 2", "rzte-2"},
		{"日本", "agent"},
		{"", "agent"},
		{strings.Repeat("x", 100), strings.Repeat("x", 64)},
		{strings.Repeat("x", 63) + " y", strings.Repeat("x", 63)},
	} {
		if got := parley.Slugify(test.name); got != test.want {
			t.Errorf("Slugify(%q) = %q; want %q", test.name, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		slug := parley.Slugify(rapid.String().Draw(t, "name"))
		if err := parley.ValidateSlug(slug); err != nil {
			t.Fatalf("the derived slug %q is invalid: %v", slug, err)
		}
		if parley.Slugify(slug) != slug {
			t.Fatalf("%q is not its own slug", slug)
		}
	})
}

func TestValidateSlugRefuses(t *testing.T) {
	t.Parallel()
	for _, slug := range []string{"", "Upper", "two--hyphens", "-front", "back-", "a_b", "a b", "é",
		strings.Repeat("x", 65), "01976c1e-7a4b-7def-8123-456789abcdef"} {
		var refusal *parley.Error
		if err := parley.ValidateSlug(slug); !errors.As(err, &refusal) || refusal.Field != "slug" {
			t.Errorf("%q: %v; want a refusal of slug", slug, err)
		}
	}
}

func TestToolRefIsAStringOrAnObject(t *testing.T) {
	t.Parallel()
	definition := parley.ToolDefinition{
		Name:        "ask",
		Description: "Asks.",
		Parameters:  json.RawMessage(`{"type":"object"}`),
	}
	want := []parley.ToolRef{{Name: "current_time"}, {Name: "ask", Definition: &definition}, {Name: `<"quoted">`}}
	encoded, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got []parley.ToolRef
	if err := json.Unmarshal(encoded, &got); err != nil {
		t.Fatalf("%s: %v", encoded, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("through %s (-want +got):\n%s", encoded, diff)
	}
	for _, data := range []string{`7`, `null`, `["a"]`, `{"name":"x","colour":1}`, `{"name":7}`, `true`} {
		var ref parley.ToolRef
		if err := ref.UnmarshalJSON([]byte(data)); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%s becomes %+v, %v; want invalid", data, ref, err)
		}
	}
}

func TestChangeTellsAbsentFromNull(t *testing.T) {
	t.Parallel()
	type patch struct {
		Title  parley.Change[string]         `json:"title,omitzero"`
		Policy parley.Change[*parley.Policy] `json:"policy,omitzero"`
	}
	recent := &parley.Policy{Kind: parley.PolicyRecent, Limit: 3}
	for _, test := range []struct {
		json string
		want patch
	}{
		{`{}`, patch{}},
		{`{"title":"x"}`, patch{Title: parley.Change[string]{Set: true, Value: "x"}}},
		{`{"title":""}`, patch{Title: parley.Change[string]{Set: true}}},
		{`{"policy":null}`, patch{Policy: parley.Change[*parley.Policy]{Set: true}}},
		{`{"policy":{"kind":"recent","limit":3,"tokens":null,"recall":null}}`,
			patch{Policy: parley.Change[*parley.Policy]{Set: true, Value: recent}}},
	} {
		var got patch
		if err := json.Unmarshal([]byte(test.json), &got); err != nil {
			t.Errorf("%s: %v", test.json, err)
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.json, diff)
		}
		encoded, err := json.Marshal(got)
		if err != nil || string(encoded) != test.json {
			t.Errorf("%s came back as %s, %v", test.json, encoded, err)
		}
	}
	var cleared patch
	if err := json.Unmarshal(
		[]byte(`{"title":null}`),
		&cleared,
	); err != nil || !cleared.Title.Set ||
		cleared.Title.Value != "" {
		t.Errorf("null gives %+v, %v; want set and empty", cleared.Title, err)
	}
	if err := json.Unmarshal([]byte(`{"title":7}`), &cleared); err == nil {
		t.Error("a number is accepted as a title")
	}
}

func TestPolicyAndRetryPolicyValidate(t *testing.T) {
	t.Parallel()
	retries := func(n int) parley.RetryPolicy { return parley.RetryPolicy{Retries: &n} }
	for name, test := range map[string]struct {
		err   error
		field string
	}{
		"all":              {parley.Policy{Kind: parley.PolicyAll}.Validate(), ""},
		"recent":           {parley.Policy{Kind: parley.PolicyRecent, Limit: 10_000}.Validate(), ""},
		"recent, no limit": {parley.Policy{Kind: parley.PolicyRecent}.Validate(), "context_policy.limit"},
		"all with limit":   {parley.Policy{Kind: parley.PolicyAll, Limit: 1}.Validate(), "context_policy.limit"},
		"unknown policy":   {parley.Policy{Kind: "newest"}.Validate(), "context_policy.kind"},
		"auto":             {parley.Policy{Kind: parley.PolicyAuto, Tokens: 1000}.Validate(), ""},
		"auto with limit":  {parley.Policy{Kind: parley.PolicyAuto, Limit: 50}.Validate(), "context_policy.limit"},
		"auto, few tokens": {parley.Policy{Kind: parley.PolicyAuto, Tokens: 999}.Validate(), "context_policy.tokens"},
		"summary":          {parley.Policy{Kind: parley.PolicySummary}.Validate(), ""},
		"summary, tokens":  {parley.Policy{Kind: parley.PolicySummary, Tokens: 1000}.Validate(), ""},
		"few tokens": {parley.Policy{Kind: parley.PolicySummary, Tokens: 999}.Validate(),
			"context_policy.tokens"},
		"few messages": {parley.Policy{Kind: parley.PolicySummary, Limit: 3}.Validate(), "context_policy.limit"},
		"both": {parley.Policy{Kind: parley.PolicySummary, Limit: 50, Tokens: 1000}.Validate(),
			"context_policy.tokens"},
		"recent in tokens": {parley.Policy{Kind: parley.PolicyRecent, Limit: 3, Tokens: 1000}.Validate(),
			"context_policy.tokens"},
		"no retries": {retries(0).Validate(), ""},
		"negative":   {retries(-1).Validate(), "retry_policy.retries"},
		"many":       {retries(21).Validate(), "retry_policy.retries"},
		"backoff":    {parley.RetryPolicy{Backoff: "random"}.Validate(), "retry_policy.backoff"},
		"wait":       {parley.RetryPolicy{MaxWaitMS: 10_001}.Validate(), "retry_policy.max_wait_ms"},
		"own sentence": {parley.RetryPolicy{
			Sentences: map[parley.ErrorClass]string{parley.ClassInternal: "Oh."}}.Validate(), ""},
		"unknown class": {parley.RetryPolicy{Sentences: map[parley.ErrorClass]string{"weather": "Rain."}}.Validate(),
			"retry_policy.sentences"},
		"NUL": {parley.RetryPolicy{Sentences: map[parley.ErrorClass]string{parley.ClassAuth: "\x00"}}.Validate(),
			"retry_policy.sentences"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var refusal *parley.Error
			if errors.As(test.err, &refusal) != (test.field != "") || refusal != nil && refusal.Field != test.field {
				t.Errorf("%v; want the field %q", test.err, test.field)
			}
		})
	}
	for _, class := range parley.ErrorClasses() {
		if err := (parley.RetryPolicy{Sentences: map[parley.ErrorClass]string{class: "Own."}}).Validate(); err != nil {
			t.Errorf("the class %s accepts no sentence: %v", class, err)
		}
		if class.Sentence() == "" {
			t.Errorf("the class %s has no sentence", class)
		}
	}
}

func TestModelID(t *testing.T) {
	t.Parallel()
	id := parley.ModelID("open/meta/llama-3")
	if id.Provider() != "open" || id.Name() != "meta/llama-3" || id.Validate() != nil {
		t.Errorf("%s splits into %q and %q, %v", id, id.Provider(), id.Name(), id.Validate())
	}
	for _, id := range []parley.ModelID{"", "gpt", "/x", "x/",
		parley.ModelID("x/" + strings.Repeat("y", parley.MaxNameBytes))} {
		if parley.ErrorCode(id.Validate()) != parley.CodeInvalid {
			t.Errorf("%.20q is accepted", id)
		}
	}
}

package httpapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
)

// shown is the registry as the document shows it.
type shown struct {
	*registry
	all map[string]*huma.Schema
}

func (s shown) SchemaFromRef(ref string) *huma.Schema {
	return s.all[strings.TrimPrefix(ref, schemaPrefix)]
}

// Every route of the list is in the document, with its errors and an example.
func TestDocumentCoversEveryRoute(t *testing.T) {
	t.Parallel()
	encoded, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	type parameter struct {
		Name string
		Ref  string `json:"$ref"`
	}
	var document struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string `json:"operationId"`
			RequestBody *struct {
				Content map[string]struct{ Example json.RawMessage }
			}
			Responses map[string]struct {
				Ref     string `json:"$ref"`
				Content map[string]struct{ Example json.RawMessage }
			}
			Parameters []parameter
			Tags       []string
		}
		Components struct{ Parameters map[string]parameter }
		Tags       []struct{ Name, Description string }
	}
	if err := json.Unmarshal(encoded, &document); err != nil {
		t.Fatal(err)
	}
	if document.OpenAPI != "3.1.0" {
		t.Errorf("openapi %q", document.OpenAPI)
	}
	tags := map[string]bool{}
	for _, tag := range document.Tags {
		tags[tag.Name] = tag.Description != ""
	}
	listed := 0
	for _, r := range routes() {
		for _, path := range r.paths {
			listed++
			operation, ok := document.Paths[path][strings.ToLower(r.method)]
			if !ok {
				t.Errorf("%s %s is not in the document", r.method, path)
				continue
			}
			named := map[string]bool{}
			for _, p := range operation.Parameters {
				if p.Ref != "" {
					p = document.Components.Parameters[strings.TrimPrefix(p.Ref, parameterPrefix)]
				}
				named[p.Name] = true
			}
			if len(operation.Tags) != 1 || !tags[operation.Tags[0]] {
				t.Errorf("%s %s: the tags %v are not described", r.method, path, operation.Tags)
			}
			for _, match := range pathVariable.FindAllStringSubmatch(path, -1) {
				if !named[match[1]] {
					t.Errorf("%s %s: {%s} is not described", r.method, path, match[1])
				}
			}
			if (r.input != nil || r.uploads) != (operation.RequestBody != nil) {
				t.Errorf("%s %s: body", r.method, path)
			}
			for _, status := range []string{"403", "500"} {
				if operation.Responses[status].Ref == "" {
					t.Errorf("%s %s has no answer %s", r.method, path, status)
				}
			}
			if _, asks := operation.Responses["401"]; asks == r.open {
				t.Errorf("%s %s: open is %v, 401 described %v", r.method, path, r.open, asks)
			}
			for status, response := range operation.Responses {
				for media, content := range response.Content {
					if media == "application/json" && len(content.Example) == 0 {
						t.Errorf("%s %s: the answer %s has no example", r.method, path, status)
					}
				}
			}
		}
	}
	total := 0
	for _, operations := range document.Paths {
		total += len(operations)
	}
	if total != listed {
		t.Errorf("the document has %d operations, the list of routes %d", total, listed)
	}
}

// A parameter that several operations have is described once.
func TestSharedParametersAreComponents(t *testing.T) {
	t.Parallel()
	encoded, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths      map[string]map[string]struct{ Parameters []json.RawMessage }
		Components struct{ Parameters map[string]json.RawMessage }
	}
	if err := json.Unmarshal(encoded, &document); err != nil {
		t.Fatal(err)
	}
	uses, inline := map[string]int{}, map[string]string{}
	for path, item := range document.Paths {
		for method, operation := range item {
			for _, raw := range operation.Parameters {
				var p struct {
					Ref string `json:"$ref"`
				}
				if err := json.Unmarshal(raw, &p); err != nil {
					t.Fatal(err)
				}
				if name := strings.TrimPrefix(p.Ref, parameterPrefix); p.Ref != "" {
					if uses[name]++; document.Components.Parameters[name] == nil {
						t.Errorf("%s %s refers to %s, which is not a component", method, path, p.Ref)
					}
					continue
				}
				if other := inline[string(raw)]; other != "" {
					t.Errorf("%s %s and %s each describe %s", method, path, other, raw)
				}
				inline[string(raw)] = method + " " + path
			}
		}
	}
	for name := range document.Components.Parameters {
		if uses[name] < 2 {
			t.Errorf("the component %s has %d uses", name, uses[name])
		}
	}
}

// Every example keeps to its schema, inputs and answers alike.
func TestExamplesFitTheirSchemas(t *testing.T) {
	t.Parallel()
	schemas := describedRegistry()
	check := func(about, example string, schema *huma.Schema) {
		var v any
		if err := json.Unmarshal([]byte(example), &v); err != nil {
			t.Errorf("%s: %v in %s", about, err, example)
			return
		}
		var result huma.ValidateResult
		huma.Validate(
			shown{schemas, schemas.Map()},
			schema,
			huma.NewPathBuffer(nil, 0),
			huma.ModeReadFromServer,
			v,
			&result,
		)
		for _, err := range result.Errors {
			t.Errorf("%s: %v", about, err)
		}
	}
	for _, r := range routes() {
		if r.input != nil {
			check(r.name+" input", r.input.example, schemas.Schema(r.input.of, true, ""))
		}
		for _, answer := range r.answers {
			if answer.goType != nil {
				check(r.name+" answer", answer.example, schemas.Schema(answer.goType, true, ""))
			}
		}
	}
	for _, f := range failures() {
		example, ok := failureResponse(f, nil).Content["application/problem+json"].Example.(json.RawMessage)
		if !ok {
			t.Fatal("no example")
		}
		check(f.name, string(example), schemas.Schema(reflect.TypeFor[Problem](), true, ""))
	}
}

// What is answered keeps to the document: a message by hand and a session by hand.
func TestAnswersFitTheDocument(t *testing.T) {
	t.Parallel()
	schemas := describedRegistry()
	m := fullMessage()
	queued := parley.Message{
		ID:          parley.NewID(),
		Author:      parley.Author{Kind: parley.AuthorPerson, ID: m.ID},
		Role:        parley.RoleUser,
		Status:      parley.MessageQueued,
		CreatedAt:   1,
		UpdatedAt:   1,
		SessionID:   m.ID,
		WorkspaceID: m.ID,
	}
	schema := schemas.Schema(reflect.TypeFor[parley.Message](), true, "")
	for _, row := range []*parley.Message{&m, &queued} {
		var result huma.ValidateResult
		huma.Validate(
			shown{schemas, schemas.Map()},
			schema,
			huma.NewPathBuffer(nil, 0),
			huma.ModeReadFromServer,
			value(t, appendMessage(nil, row)),
			&result,
		)
		for _, err := range result.Errors {
			t.Error(err)
		}
	}
}

// A message's role says which content it has, in answers and in events.
func TestContentsGoByRole(t *testing.T) {
	t.Parallel()
	schemas := shown{describedRegistry(), nil}
	schemas.all = schemas.Map()
	for _, test := range []struct {
		role, content string
		fits          bool
	}{
		{"user", `{"parts":[{"type":"text","text":"Hello"}],"text":"Hello"}`, true},
		{"assistant", `{"parts":[{"type":"text","text":"Hello"}],"text":"Hello","reasoning":"Greets."}`, true},
		{"tool_call", `{"id":"c1","name":"sew","arguments":{}}`, true},
		{"tool_result", `{"parts":[{"type":"object","object":7}],"result":7,"error":null,"success":true,` +
			`"execution_time_ms":1}`, true},
		{"user", `{"text":"Hello"}`, false}, {"assistant", `{"parts":[]}`, false},
		{"tool_result", `{"result":7,"error":null,"success":true,"execution_time_ms":1}`, false},
		{"summary", `{"text":"Before."}`, true}, {"system", `{"text":"Before."}`, true},
		{"user", `{"reasoning":"Greets."}`, false}, {"tool_call", `{"text":"Hello"}`, false},
		{"tool_result", `{"id":"c1","name":"sew","arguments":{}}`, false}, {"summary", `{"refusal":"No."}`, false},
	} {
		for _, name := range []string{"Message", "SettledMessage"} {
			if name == "SettledMessage" && !test.fits {
				continue // its content may be null, which the validator takes for anything
			}
			s := schemas.all[name]
			var result huma.ValidateResult
			huma.Validate(schemas, &huma.Schema{OneOf: s.OneOf}, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer,
				value(t, []byte(`{"role":"`+test.role+`","content":`+test.content+`}`)), &result)
			if fits := len(result.Errors) == 0; fits != test.fits {
				t.Errorf("%s: %s with %s: fits %v (%v)", name, test.role, test.content, fits, result.Errors)
			}
		}
	}
}

// A client's generated types bear the names of schemas: moving a Go type into a package
// of its own changes none.
func TestSchemasKeepTheirNames(t *testing.T) {
	t.Parallel()
	encoded, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(encoded, &document); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ModelInfo", "ProviderInfo", "Price", "SessionClient", "OutsideGrown", "Warmed"} {
		if document.Components.Schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
}

func TestDocumentAndDocsAreServedWithoutForeignRequests(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	document := s.do("GET", "/v1/openapi.json", "")
	if document.status != http.StatusOK || !json.Valid(document.body) {
		t.Errorf("document: status %d", document.status)
	}
	if yaml := s.do(
		"GET",
		"/v1/openapi.yaml",
		"",
	); yaml.status != http.StatusOK ||
		!strings.Contains(string(yaml.body), "openapi: ") {
		t.Errorf("yaml: status %d", yaml.status)
	}
	docs := s.do("GET", "/docs", "")
	if docs.status != http.StatusOK || !strings.HasPrefix(docs.header.Get("Content-Type"), "text/html") {
		t.Errorf("docs: status %d, %s", docs.status, docs.header.Get("Content-Type"))
	}
	if policy := docs.header.Get(
		"Content-Security-Policy",
	); !strings.Contains(policy, "default-src 'none'") ||
		strings.Contains(policy, "http") {
		t.Errorf("policy %q", policy)
	}
	script := s.do("GET", "/docs/docs.js", "")
	for _, body := range [][]byte{docs.body, script.body} {
		if strings.Contains(string(body), "://") || strings.Contains(string(body), `="//`) {
			t.Errorf("the docs page names a foreign address: %s", body)
		}
	}
}

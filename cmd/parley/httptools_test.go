package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/tool"
)

// TestConfiguredEndpointIsATool: from the file to a call with its secret.
func TestConfiguredEndpointIsATool(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(
			w,
			`{"asked":%q,"authorised":%t,"accepts":%q}`,
			r.RequestURI,
			r.Header.Get("Authorization") == "Bearer s3cret-token",
			r.Header.Get("Accept"),
		)
	}))
	defer server.Close()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "parley.yaml"), `
http_tools:
  - name: weather
    description: Tells the weather of a city.
    url: `+server.URL+`/weather/{city}
    headers: {Accept: application/json}
    secret_headers: {Authorization: "Bearer ${WEATHER_KEY}"}
    parameters:
      type: object
      properties: {city: {type: string}, days: {type: integer, maximum: 7}}
      required: [city]
    timeout: 5s
    allow_private: true
    annotations: {open_world: false}
`)
	s, err := loadSettings(&flags{data: dir}, environment(nil))
	if err != nil {
		t.Fatal(err)
	}
	source, err := httpTools(s.HTTPTools, environment(map[string]string{"WEATHER_KEY": "s3cret-token"}))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	one, ok := source.Tool("weather")
	if !ok || one.Annotations() != (parley.ToolAnnotations{ReadOnly: true, Idempotent: true}) {
		t.Fatalf("the tool is %v", one)
	}
	got, err := one.Call(t.Context(), tool.Call{Arguments: json.RawMessage(`{"city":"New York","days":3}`)})
	if want := `{"status":200,"body":{"asked":"/weather/New%20York?days=3","authorised":true,` +
		`"accepts":"application/json"}}`; err != nil ||
		string(got.JSON) != want {
		t.Errorf("got %s, %v", got.JSON, err)
	}
	if _, err := one.Call(
		t.Context(),
		tool.Call{Arguments: json.RawMessage(`{"city":"Rome","days":8}`)},
	); err == nil ||
		!strings.Contains(err.Error(), "schema") {
		t.Errorf("days beyond the schema: %v", err)
	}
	if _, err := httpTools(
		s.HTTPTools,
		environment(nil),
	); parley.ErrorCode(err) != parley.CodeInvalid ||
		!strings.Contains(err.Error(), "WEATHER_KEY") {
		t.Errorf("without the variable: %v", err)
	}
}

package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
)

// everything returns a new request with every field set that a wire may carry. Where provider data replace a part,
// another part has none.
func everything(modelID parley.ModelID, reasoning []byte) model.Request {
	image := model.Part{
		Kind:      model.PartImage,
		Name:      "dot.png",
		MediaType: "image/png",
		Data:      []byte("\x89PNG"),
		Width:     1,
		Height:    1,
		Sequence:  1,
	}
	return model.Request{
		Model:    modelID,
		System:   "Be brief.",
		Think:    true,
		Search:   true,
		CacheKey: "session",
		CacheTTL: parley.CacheMinutes,
		Tools: []parley.ToolDefinition{
			{
				Name:        "add",
				Description: "Adds.",
				Parameters:  json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"}}}`),
			},
		},
		Messages: []model.Message{
			{Role: model.RoleUser, Parts: []model.Part{image, Text("What is 1 + 2?")}},
			Answer(
				model.Part{Kind: model.PartReasoning, Text: "A call.", ProviderData: reasoning},
				Text("Let me see."),
				Call(
					"own-1",
					"add",
					`{"a":1}`,
					[]byte(`{"id":"call_0","arguments":"{\"a\": 1}"}`),
				),
				Call("own-2", "add", `{"a":2}`, nil),
			),
			Results(Result("own-1", "3", false), Result("own-2", "no", true)),
			Say("And again?"),
		},
		Parameters: parley.Parameters{
			Temperature:     Of(0.5),
			TopP:            Of(0.5),
			MaxTokens:       Of(4000),
			Seed:            Of(int64(7)),
			ReasoningEffort: Of("low"),
		},
	}
}

var indexes = regexp.MustCompile(`\[\d+\]`)

// change changes the n-th leaf of a value and returns its name, "" if there are fewer.
func change(v reflect.Value, path string, n *int) string {
	switch {
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return change(v.Elem(), path, n)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if name := change(v.Field(i), path+"."+v.Type().Field(i).Name, n); name != "" {
				return name
			}
		}
		return ""
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		for i := range v.Len() {
			if name := change(v.Index(i), fmt.Sprintf("%s[%d]", path, i), n); name != "" {
				return name
			}
		}
		return ""
	case v.IsZero() && v.Kind() != reflect.Bool,
		strings.HasSuffix(path, ".IsError") && !strings.Contains(path, "Messages[2]"): // it does not matter here
		return ""
	}
	if *n--; *n >= 0 {
		return ""
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 0.125)
	case reflect.Slice:
		v.SetBytes(changed(v.Bytes()))
	default:
		panic("no way to change a " + v.Kind().String())
	}
	return path
}

// changed returns other bytes; JSON stays JSON.
func changed(data []byte) []byte {
	for _, part := range []string{"0", "1", "_"} {
		if bytes.Contains(data, []byte(part)) {
			return bytes.Replace(data, []byte(part), []byte("5"), 1)
		}
	}
	if data[0] == '{' {
		return append(bytes.TrimSuffix(bytes.Clone(data), []byte("}")), `,"zz":1}`...)
	}
	return append(bytes.Clone(data), 0)
}

// RunLeaves changes every leaf of a request, one at a time: the key of its cached answer must change too, or the
// request must be refused. unsent are the fields that this wire does not send, without indexes: only those change
// nothing.
func RunLeaves(t *testing.T, adapter model.Model, id parley.ModelID, reasoning []byte, unsent ...string) {
	t.Helper()
	keyOf := func(request model.Request) (parley.Hash, error) {
		request.CacheKey = ""
		encoded, err := adapter.Encode(request)
		return model.ResponseKey(encoded), err
	}
	before, err := keyOf(everything(id, reasoning))
	if err != nil {
		t.Fatal(err)
	}
	moved, still := map[string]bool{}, map[string]bool{}
	for leaf := 0; ; leaf++ {
		request, n := everything(id, reasoning), leaf
		path := change(reflect.ValueOf(&request), "", &n)
		if path == "" {
			break
		}
		name := indexes.ReplaceAllString(path, "")
		if after, err := keyOf(request); err != nil || after != before {
			moved[name] = true
		} else if still[name] = true; !slices.Contains(unsent, name) && !slices.Contains(unsent, path) {
			t.Errorf("a change of %s changes nothing", path)
		}
	}
	if len(moved) < 12 {
		t.Errorf("only %d fields matter: %v", len(moved), moved)
	}
	for _, name := range unsent {
		if plain := indexes.ReplaceAllString(name, ""); !still[plain] {
			t.Errorf("%s is sent", name)
		}
	}
}

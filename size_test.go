package parley

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// A size counts every text that a row has from outside: a text left out would make a page unbounded.
func TestSizesCountEveryText(t *testing.T) {
	t.Parallel()
	own := map[string]bool{ // closed lists, names given by Parley, and texts with bounds below a page's share
		"Agent.Slug":                 true,
		"Agent.Runtime":              true,
		"Agent.OwnerName":            true,
		"Agent.Status":               true,
		"Agent.Accepted":             true,
		"Settings.Model":             true,
		"Settings.Limits":            true,
		"Settings.ResponseCache":     true,
		"Settings.Policy":            true,
		"Settings.Retry":             true,
		"Parameters.ReasoningEffort": true,
		"Session.Visibility":         true,
		"Session.Kind":               true,
		"Session.Mode":               true,
		"Session.During":             true,
		"Session.Status":             true,
		"Session.WaitReason":         true,
		"Session.Accepted":           true,
		"Session.Context":            true,
		"Session.Statistics":         true,
		"Approval.State":             true,
		"Approval.Scope":             true,
		"Approval.Covers":            true,
		"Approval.DecidedBy":         true,
		"Approval.Reason":            true,
		"Approval.ApprovedBy":        true,
		"Approval.Explanation":       true,
		"Turn.Status":                true,
		"Turn.WaitReason":            true,
		"Call.Purpose":               true,
		"Call.Provider":              true,
		"Call.Model":                 true,
		"Call.Manifest":              true,
		"Call.Finish":                true,
		"Call.Outcome":               true,
		"Call.Cache":                 true,
		"Call.Reserved":              true,
		"Loop.Author":                true,
		"Loop.State":                 true,
		"Loop.Context":               true,
		"Failure.Class":              true,
		"Grant.Effect":               true,
	}
	const each = 1000
	for _, row := range []interface{ Size() int }{&Agent{}, &Session{}, &Approval{}, &Turn{}, &Call{}, &Loop{}} {
		want := fillTexts(t, reflect.ValueOf(row).Elem(), own, each)
		if got := row.Size(); got != want {
			t.Errorf("a %T with texts of %d bytes has size %d", row, want, got)
		}
	}
}

// fillTexts gives every text of a struct, except those in own, the same number of bytes, and counts them.
func fillTexts(t *testing.T, v reflect.Value, own map[string]bool, each int) (n int) {
	t.Helper()
	text := strings.Repeat("x", each)
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(text))
		return each
	case v.Kind() == reflect.String:
		v.SetString(text)
		return each
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fillTexts(t, v.Elem(), own, each)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return fillTexts(t, v.Index(0), own, each)
	case v.Kind() == reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		n = fillTexts(t, key, own, each) + fillTexts(t, value, own, each)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
		return n
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && !own[v.Type().Name()+"."+field.Name] {
				n += fillTexts(t, v.Field(i), own, each)
			}
		}
	}
	return n
}

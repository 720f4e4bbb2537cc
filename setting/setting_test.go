package setting_test

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/setting"
)

// leaves returns the JSON names of a struct's fields, with embedded ones promoted.
func leaves(t reflect.Type) map[string]reflect.StructField {
	named := map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			named[name] = field
		}
	}
	return named
}

// example returns settings with the example of one setting.
func example(t *testing.T, d *setting.Description) (s parley.Settings) {
	t.Helper()
	if err := json.Unmarshal([]byte(`{"`+d.Name+`":`+d.Example+`}`), &s); err != nil {
		t.Fatalf("the example of %s: %v", d.Name, err)
	}
	return s
}

// A field of Settings or of its patch without a description is a mistake, and so is a description without a field.
func TestEveryFieldIsDescribed(t *testing.T) {
	t.Parallel()
	var described []string
	for _, one := range setting.All(^setting.Scope(0)) {
		described = append(described, one.Describe().Name)
	}
	slices.Sort(described)
	for _, of := range []reflect.Type{reflect.TypeFor[parley.Settings](), reflect.TypeFor[parley.SettingsPatch]()} {
		if fields := slices.Sorted(maps.Keys(leaves(of))); !slices.Equal(fields, described) {
			t.Errorf("%s has %q, described are %q", of, fields, described)
		}
	}
}

// A description is complete, and agrees with the type of its field.
func TestDescriptionsAreComplete(t *testing.T) {
	t.Parallel()
	fields := leaves(reflect.TypeFor[parley.Settings]())
	for _, one := range setting.All(^setting.Scope(0)) {
		d := one.Describe()
		if d.Label == "" || !strings.HasSuffix(d.Doc, ".") || d.Scopes == 0 || d.Wins == "" {
			t.Errorf("%s is described as %+v", d.Name, d)
		}
		field := fields[d.Name].Type
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		kinds := map[reflect.Kind][]setting.Kind{
			reflect.String: {
				setting.Text,
				setting.Choice,
			},
			reflect.Float64: {setting.Number},
			reflect.Int:     {setting.Integer},
			reflect.Int64:   {setting.Integer},
			reflect.Slice:   {setting.List},
			reflect.Struct:  {setting.Object},
			reflect.Map:     {setting.Object},
			reflect.Bool:    {setting.Switch},
		}
		if !slices.Contains(kinds[field.Kind()], d.Kind) || (d.Kind == setting.Choice) != (len(d.Choices) > 0) {
			t.Errorf("%s is %s, which a %s is not", d.Name, d.Kind, field)
		}
		if d.In(setting.Session) != d.In(setting.Fork) {
			t.Errorf("%s: a fork is a session, and sets what one sets", d.Name)
		}
	}
}

// The variants of a setting are what its check accepts: each member alone, at its bounds and not beyond them, and none
// that belongs to other variants.
func TestVariantsAgreeWithTheCheck(t *testing.T) {
	t.Parallel()
	for _, one := range setting.All(^setting.Scope(0)) {
		d := one.Describe()
		accepts := func(kind, members string) bool {
			var s parley.Settings
			text := `{"` + d.Name + `":{"kind":"` + kind + `"` + members + `}}`
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return setting.Check(setting.Agent, &s) == nil
		}
		others := map[string]string{} // a value of each member
		for _, v := range d.Variants {
			for _, m := range v.Members {
				others[m.Name] = "true"
				if m.Kind == setting.Integer {
					others[m.Name] = strconv.Itoa(m.Max)
				}
			}
		}
		for _, v := range d.Variants {
			needs := slices.ContainsFunc(v.Members, func(m setting.Member) bool { return m.Needed })
			if accepts(v.Kind, "") == needs || v.Label == "" || !strings.HasSuffix(v.Doc, ".") {
				t.Errorf("%s of %s is described as %+v", v.Kind, d.Name, v)
			}
			for name, value := range others {
				at := slices.IndexFunc(v.Members, func(m setting.Member) bool { return m.Name == name })
				member := func(value string) bool { return accepts(v.Kind, `,"`+name+`":`+value) }
				switch {
				case at < 0:
					if !needs && member(value) {
						t.Errorf("%s of %s accepts %s, which is not described", v.Kind, d.Name, name)
					}
				case v.Members[at].Kind == setting.Switch:
					if !member("true") || !member("false") {
						t.Errorf("%s of %s refuses its %s", v.Kind, d.Name, name)
					}
				default:
					least, most := v.Members[at].Min, v.Members[at].Max
					if !member(strconv.Itoa(least)) || !member(strconv.Itoa(most)) || member(strconv.Itoa(most+1)) ||
						least > 1 && member(strconv.Itoa(least-1)) || member("-1") {
						t.Errorf("%s of %s: the bounds of %s are %d and %d", v.Kind, d.Name, name, least, most)
					}
				}
			}
		}
	}
}

// A setting's value passes through everything that a scope does with it: check, merge, patch and JSON. A scope that it
// does not belong in refuses it.
func TestEverySettingPassesThrough(t *testing.T) {
	t.Parallel()
	for _, one := range setting.All(^setting.Scope(0)) {
		d := one.Describe()
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			var none parley.Settings
			set := example(t, d)
			equal := func(what string, got parley.Settings) {
				t.Helper()
				if diff := cmp.Diff(set, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
			if !one.IsSet(&set) || one.IsSet(&none) {
				t.Error("IsSet is wrong")
			}
			for _, scope := range setting.Scopes() {
				var refused *parley.Error
				switch err := setting.Check(scope, &set); {
				case d.In(scope) && err != nil:
					t.Errorf("%s refuses the example: %v", scope, err)
				case !d.In(scope) && (!errors.As(err, &refused) || refused.Field != d.Name):
					t.Errorf("%s takes it: %v", scope, err)
				}
			}
			equal("over nothing", setting.Over(set, none))
			equal("nothing over it", setting.Over(none, set))
			equal("the message's", setting.Effective(set, &none, &none))
			equal("the session's", setting.Effective(none, &set, &none))
			equal("the agent's", setting.Effective(none, &none, &set))
			var patch, cleared parley.SettingsPatch
			if err := json.Unmarshal([]byte(`{"`+d.Name+`":`+d.Example+`}`), &patch); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(`{"`+d.Name+`":null}`), &cleared); err != nil {
				t.Fatal(err)
			}
			equal("set by a patch", setting.Patched(none, &patch))
			equal("left alone by a patch", setting.Patched(set, &parley.SettingsPatch{}))
			if got := setting.Patched(set, &cleared); !setting.IsZero(&got) || !one.IsNamed(&cleared) {
				t.Errorf("cleared it is %+v", got)
			}
			if !setting.IsZero(&none) || setting.IsZero(&set) {
				t.Error("IsZero does not see it")
			}
			inJSON(t, d, set)
		})
	}
}

// inJSON reads back what sessions, agents and databases write of a setting.
func inJSON(t *testing.T, d *setting.Description, set parley.Settings) {
	t.Helper()
	for form, value := range map[string]any{
		"a session": parley.Session{Settings: set}, "an agent": parley.Agent{Settings: set}, "a row": set,
	} {
		written, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var got parley.Settings
		if err := json.Unmarshal(written, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(set, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", form, diff)
		}
	}
	for form, s := range map[string]parley.Settings{"set": set, "not set": {}} {
		byReflection, err := json.Marshal(parley.Session{Settings: s})
		if err != nil {
			t.Fatal(err)
		}
		var whole, appended map[string]json.RawMessage
		if err := json.Unmarshal(byReflection, &whole); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(append(setting.AppendJSON([]byte(`{"x":0`), &s), '}'), &appended); err != nil {
			t.Fatal(err)
		}
		if string(whole[d.Name]) != string(appended[d.Name]) || (form == "set") == (string(whole[d.Name]) == "null") {
			t.Errorf("%s it is %s by reflection, %s appended", form, whole[d.Name], appended[d.Name])
		}
	}
}

// For a setting with parts, each part set by the nearer scope replaces only that part of the wider one.
func TestPartsAreFilledOneByOne(t *testing.T) {
	t.Parallel()
	for _, one := range setting.All(^setting.Scope(0)) {
		d := one.Describe()
		field := leaves(reflect.TypeFor[parley.Settings]())[d.Name]
		if d.Wins != setting.ByPart {
			continue
		}
		parts := field.Type.Elem()
		for i := range parts.NumField() {
			near, wider := reflect.New(parts), reflect.New(parts)
			near.Elem().Field(i).Set(filled(parts.Field(i).Type, 1))
			for j := range parts.NumField() {
				wider.Elem().Field(j).Set(filled(parts.Field(j).Type, 2))
			}
			var a, b parley.Settings
			reflect.ValueOf(&a).Elem().FieldByIndex(field.Index).Set(near)
			reflect.ValueOf(&b).Elem().FieldByIndex(field.Index).Set(wider)
			merged := setting.Over(a, b)
			got := reflect.ValueOf(merged).FieldByIndex(field.Index).Elem()
			for j := range parts.NumField() {
				want := wider.Elem().Field(j)
				if j == i {
					want = near.Elem().Field(j)
				}
				if !reflect.DeepEqual(want.Interface(), got.Field(j).Interface()) {
					t.Errorf("%s with %s set: %s is %v", d.Name, parts.Field(i).Name, parts.Field(j).Name, got.Field(j))
				}
			}
		}
	}
}

// filled returns a non-zero value of a type.
func filled(of reflect.Type, n int64) reflect.Value {
	value := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.Pointer:
		inside := reflect.New(of.Elem())
		inside.Elem().Set(filled(of.Elem(), n))
		return inside
	case reflect.Slice:
		value.Set(reflect.MakeSlice(of, int(n), int(n)))
	case reflect.Map:
		value.Set(reflect.MakeMap(of))
		value.SetMapIndex(filled(of.Key(), n), filled(of.Elem(), n))
	case reflect.String:
		value.SetString(strings.Repeat("x", int(n)))
	case reflect.Bool:
		value.SetBool(true)
	default:
		value.SetInt(n)
	}
	return value
}

// An agent's daily limits do not apply to a session; a fork has its parent's.
func TestDailyLimitsCountApart(t *testing.T) {
	t.Parallel()
	agent := parley.Settings{Limits: &parley.Limits{DailyTokens: new(int64(5)), MaxSteps: new(3)}}
	session := parley.Settings{Limits: &parley.Limits{MaxTokens: new(int64(7))}}
	if l := setting.Limits.Nearest(&agent, &session); l.DailyTokens != nil || *l.MaxSteps != 3 || *l.MaxTokens != 7 {
		t.Errorf("a session's limits are %+v", l)
	}
	if l := setting.Over(session, agent).Limits; l.DailyTokens == nil || *l.MaxSteps != 3 || *l.MaxTokens != 7 {
		t.Errorf("a fork's limits are %+v", l)
	}
}

func TestBoundsNameTheField(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings parley.Settings
		field    string
	}{
		"nothing": {},
		"edges": {settings: parley.Settings{ApprovalTimeout: new(1),
			Parameters: parley.Parameters{Temperature: new(2.0), TopP: new(0.0), MaxTokens: new(1),
				ReasoningEffort: new("none")}}},
		"cold":             {parameters(parley.Parameters{Temperature: new(-0.1)}), "temperature"},
		"hot":              {parameters(parley.Parameters{Temperature: new(2.1)}), "temperature"},
		"not a number":     {parameters(parley.Parameters{Temperature: new(math.NaN())}), "temperature"},
		"top_p":            {parameters(parley.Parameters{TopP: new(1.01)}), "top_p"},
		"no tokens":        {parameters(parley.Parameters{MaxTokens: new(0)}), "max_tokens"},
		"too many tokens":  {parameters(parley.Parameters{MaxTokens: new(10_000_001)}), "max_tokens"},
		"unknown effort":   {parameters(parley.Parameters{ReasoningEffort: new("huge")}), "reasoning_effort"},
		"empty effort":     {parameters(parley.Parameters{ReasoningEffort: new("")}), "reasoning_effort"},
		"first one counts": {parameters(parley.Parameters{Temperature: new(9.0), TopP: new(9.0)}), "temperature"},
		"no model":         {parley.Settings{Model: "gpt"}, "model"},
		"a part":           {parley.Settings{Limits: &parley.Limits{MaxSteps: new(0)}}, "limits.max_steps"},
		"before now":       {parley.Settings{ApprovalTimeout: new(-1)}, "approval_timeout"},
		"a long wait":      {parley.Settings{ApprovalTimeout: new(parley.MaxApprovalTimeout + 1)}, "approval_timeout"},
	} {
		var refused *parley.Error
		err := setting.Check(setting.Session, &test.settings)
		if errors.As(err, &refused) != (test.field != "") || refused != nil && refused.Field != test.field {
			t.Errorf("%s: %v; want the field %q", name, err, test.field)
		}
	}
}

func parameters(p parley.Parameters) parley.Settings { return parley.Settings{Parameters: p} }

// BenchmarkEffective measures the merge that every turn makes.
func BenchmarkEffective(b *testing.B) {
	agent := parley.Settings{
		Model:        "sim/echo",
		SystemPrompt: new("Be brief."),
		Tools:        &[]parley.ToolRef{{Name: "current_time"}},
		Limits: &parley.Limits{
			MaxSteps: new(3),
		},
		Middleware: &parley.MiddlewareSettings{},
		Retry:      &parley.RetryPolicy{},
	}
	session := parley.Settings{Parameters: parley.Parameters{Temperature: new(0.5)},
		Policy: &parley.Policy{Kind: parley.PolicyAll}}
	message := parley.Settings{Parameters: parley.Parameters{MaxTokens: new(100)}}
	b.ReportAllocs()
	for b.Loop() {
		if set := setting.Effective(message, &session, &agent); set.Model != "sim/echo" {
			b.Fatal(set.Model)
		}
	}
}

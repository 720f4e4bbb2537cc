package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"
)

// someName draws from few names, so that schemas and values meet.
func someName() *rapid.Generator[string] { return rapid.SampledFrom([]string{"a", "b", "cc", "d~/"}) }

func someValue(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		most := 6
		if depth == 0 {
			most = 4
		}
		switch rapid.IntRange(0, most).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "truth")
		case 2:
			return rapid.IntRange(-4, 8).Draw(t, "integer")
		case 3:
			return float64(rapid.IntRange(-8, 16).Draw(t, "halves")) / 2
		case 4:
			return rapid.SampledFrom([]string{"", "a", "aa", "ab", "é", "日本語"}).Draw(t, "text")
		case 5:
			return rapid.SliceOfN(someValue(depth-1), 0, 4).Draw(t, "items")
		}
		return rapid.MapOfN(someName(), someValue(depth-1), 0, 3).Draw(t, "members")
	})
}

// someSchema draws schemas with every keyword, with references only into the value.
func someSchema(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		if depth == 0 || rapid.IntRange(0, 9).Draw(t, "plain") == 0 {
			return rapid.SampledFrom([]any{true, false, map[string]any{}, map[string]any{"type": "integer"},
				map[string]any{"type": "string"}}).
				Draw(t, "leaf")
		}
		inner := func(label string) any { return someSchema(depth-1).Draw(t, label) }
		list := func(label string) any { return rapid.SliceOfN(someSchema(depth-1), 1, 3).Draw(t, label) }
		table := func(label string) any {
			return rapid.MapOfN(someName(), someSchema(depth-1), 1, 3).Draw(t, label)
		}
		count := func() any { return rapid.IntRange(0, 3).Draw(t, "count") }
		namesOf := func() any { return rapid.SliceOfNDistinct(someName(), 1, 2, rapid.ID).Draw(t, "names") }
		keywords := map[string]func() any{
			"type": func() any {
				return rapid.SampledFrom([]any{"array", "boolean", "integer", "null", "number", "object", "string",
					[]string{"string", "null"}, []string{"number", "array"}}).
					Draw(t, "type")
			},
			"enum":  func() any { return rapid.SliceOfN(someValue(1), 1, 4).Draw(t, "enum") },
			"const": func() any { return someValue(2).Draw(t, "const") },
			"multipleOf": func() any {
				return rapid.SampledFrom([]float64{0.5, 1, 2, 3}).Draw(t, "multiple")
			},
			"minimum":          func() any { return rapid.IntRange(-4, 4).Draw(t, "minimum") },
			"maximum":          func() any { return rapid.IntRange(-4, 4).Draw(t, "maximum") },
			"exclusiveMinimum": func() any { return rapid.IntRange(-4, 4).Draw(t, "above") },
			"exclusiveMaximum": func() any { return 2.5 },
			"minLength":        count,
			"maxLength":        count,
			"pattern": func() any {
				return rapid.SampledFrom([]string{"a", "^a*$", "[^a]"}).Draw(t, "pattern")
			},
			"prefixItems":           func() any { return list("prefix") },
			"items":                 func() any { return inner("items") },
			"contains":              func() any { return inner("contains") },
			"minItems":              count,
			"maxItems":              count,
			"uniqueItems":           func() any { return true },
			"properties":            func() any { return table("properties") },
			"patternProperties":     func() any { return map[string]any{"^a|c": inner("by pattern")} },
			"additionalProperties":  func() any { return inner("additional") },
			"propertyNames":         func() any { return inner("names") },
			"minProperties":         count,
			"maxProperties":         count,
			"required":              namesOf,
			"dependentRequired":     func() any { return map[string]any{"a": namesOf()} },
			"dependentSchemas":      func() any { return table("dependent") },
			"allOf":                 func() any { return list("all") },
			"anyOf":                 func() any { return list("any") },
			"oneOf":                 func() any { return list("one") },
			"not":                   func() any { return inner("not") },
			"if":                    func() any { return inner("if") },
			"then":                  func() any { return inner("then") },
			"else":                  func() any { return inner("else") },
			"unevaluatedProperties": func() any { return inner("unevaluated") },
			"unevaluatedItems":      func() any { return inner("unevaluated") },
		}
		chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(sortedKeys(keywords)), 1, 4, rapid.ID).Draw(t, "keywords")
		made := map[string]any{}
		for _, keyword := range chosen {
			made[keyword] = keywords[keyword]()
		}
		return made
	})
}

// TestLikeTheLibrary compares the checker with the library that it replaced.
func TestLikeTheLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(someSchema(3).Draw(t, "schema"))
		if err != nil {
			t.Fatal(err)
		}
		var library jsonschema.Schema
		if err := json.Unmarshal(raw, &library); err != nil {
			t.Fatal(err)
		}
		resolved, err := library.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Read(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		for range 4 {
			given, err := json.Marshal(someValue(3).Draw(t, "value"))
			if err != nil {
				t.Fatal(err)
			}
			var value any
			if err := json.Unmarshal(given, &value); err != nil {
				t.Fatal(err)
			}
			want := resolved.Validate(value)
			fits, err := s.Fits(t.Context(), string(given))
			if err != nil || fits != (want == nil) {
				t.Fatalf("%s against %s: %v, %v; the library says %v", given, raw, fits, err, want)
			}
		}
	})
}

func sortedKeys(of map[string]func() any) []string { return slices.Sorted(maps.Keys(of)) }

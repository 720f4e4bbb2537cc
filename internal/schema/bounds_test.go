package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// doubling returns a schema with a definition, a0, whose check doubles with every second level: with 60 levels it would
// occupy a core forever.
func doubling(root string) string {
	const levels = 60
	var defs []string
	for i := range levels {
		next := fmt.Sprintf(`{"$ref":"#/$defs/a%d"}`, i+1)
		defs = append(defs, fmt.Sprintf(`"a%d":{"anyOf":[{"not":%s},{"not":%s}]}`, i, next, next))
	}
	defs = append(defs, fmt.Sprintf(`"a%d":{"type":"string"}`, levels))
	return `{"$defs":{` + strings.Join(defs, ",") + `},` + root + `}`
}

const costly = `{"$ref":"#/$defs/a0"}`

func TestSchemasBeyondTheBounds(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(`{},`, MaxSubschemas)
	for name, raw := range map[string]string{
		"a reference to itself":  `{"$ref":"#"}`,
		"a definition of itself": `{"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`,
		"an unused definition":   `{"$defs":{"a":{"$ref":"#/$defs/a"}}}`,
		"a circle of two": `{"$defs":{"a":{"$ref":"#/$defs/b"},` +
			`"b":{"allOf":[{"$ref":"#/$defs/a"}]}}}`,
		"through anyOf":            `{"anyOf":[{"type":"string"},{"$ref":"#"}]}`,
		"through oneOf":            `{"oneOf":[{"$ref":"#"}]}`,
		"through not":              `{"not":{"$ref":"#"}}`,
		"through if":               `{"if":{"$ref":"#"}}`,
		"through then":             `{"if":true,"then":{"$ref":"#"}}`,
		"through else":             `{"if":false,"else":{"$ref":"#"}}`,
		"through dependentSchemas": `{"dependentSchemas":{"a":{"$ref":"#"}}}`,
		"through dependencies":     `{"dependencies":{"a":{"$ref":"#"}}}`,
		"by an anchor":             `{"$anchor":"me","allOf":[{"$ref":"#me"}]}`,
		"by an address": `{"$id":"https://example.com/a",` +
			`"allOf":[{"$ref":"https://example.com/a"}]}`,
		"by $dynamicRef": `{"$dynamicAnchor":"me","allOf":[{"$dynamicRef":"#me"}]}`,
		"by an anchor that is " +
			"overridden": `{"$id":"https://example.com/a","$dynamicAnchor":"me","$ref":"b","$defs":{"b":{"$id":"b",` +
			`"$defs":{"c":{"$dynamicAnchor":"me"}},"$dynamicRef":"#me"}}}`,
		"too long":               `{"description":"` + strings.Repeat("x", MaxBytes) + `"}`,
		"too many schemas":       `{"anyOf":[` + many + `{}]}`,
		"too deep":               strings.Repeat(`{"not":`, 70) + `{}` + strings.Repeat(`}`, 70),
		"a long pattern":         `{"pattern":"` + strings.Repeat("x", MaxPatternBytes+1) + `"}`,
		"a pattern that repeats": `{"pattern":"(` + strings.Repeat("abcdefgh", 12) + `){1000}"}`,
		"many patterns": `{"anyOf":[` + strings.Repeat(`{"pattern":"a"},`, MaxPatterns) +
			`{"pattern":"a"}]}`,
		"patterns too large together": `{"anyOf":[` + strings.Repeat(`{"pattern":".{900}"},`, 40) + `{}]}`,
		"long names on the way":       `{"properties":{"` + strings.Repeat("x", maxPointerBytes) + `":{}}}`,
	} {
		_, err := Read(json.RawMessage(raw))
		if bound := (*BoundError)(nil); !errors.As(err, &bound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, raw := range map[string]string{
		"a tree": `{"type":"object","properties":{"children":{"type":"array","items":{"$ref":"#"}}}}`,
		"a list": `{"$defs":{"l":{"anyOf":[{"type":"null"},{"properties":{"next":{"$ref":"#/$defs/l"}}}]}},` +
			`"$ref":"#/$defs/l"}`,
		"names":            `{"propertyNames":{"$ref":"#"}}`,
		"used twice":       `{"$defs":{"a":{}},"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}`,
		"a dynamic tree":   `{"$dynamicAnchor":"n","properties":{"c":{"items":{"$dynamicRef":"#n"}}}}`,
		"a usual pattern":  `{"pattern":"^[A-Za-z0-9_-]{1,256}$"}`,
		"as deep as it is": strings.Repeat(`{"not":`, 60) + `{}` + strings.Repeat(`}`, 60),
	} {
		if _, err := Read(json.RawMessage(raw)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever a check costs, it ends with an answer or an error.
func TestChecksEnd(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 8<<20)
	numbers := "[" + strings.Repeat("1,", 400_000) + "1]"
	nested := strings.Repeat(`{"c":[`, 100) + strings.Repeat(`]}`, 100)
	for name, c := range map[string]struct {
		schema, value string
		fits, ends    bool // what comes out, and whether the budget suffices
	}{
		"a doubling schema": {doubling(`"allOf":[` + costly + `]`), `{}`, false, false},
		"behind not":        {doubling(`"not":` + costly), `{}`, false, false},
		"behind if":         {doubling(`"if":` + costly + `,"then":true,"else":true`), `{}`, false, false},
		"behind contains":   {doubling(`"minContains":0,"contains":` + costly), `[{}]`, false, false},
		"in each of many members": {`{"additionalProperties":{"items":{"allOf":[{"enum":[1,2]},{"minimum":1}]}}}`,
			`{"a":` + numbers + `}`, false, false},
		"a pattern on a long text": {`{"pattern":"(a?){500}b"}`, `"` + long + `"`, false, false},
		"a cheap one":              {`{"pattern":"^a"}`, `"` + long + `"`, true, true},
		"patterns on a long name":  {`{"patternProperties":{"(a?){500}b":true}}`, `{"` + long + `":1}`, false, false},
		"a long list with equals":  {`{"uniqueItems":true}`, numbers, false, true},
		"values without end":       {`{}`, "[" + strings.Repeat("1,", MaxSteps) + "1]", false, false},
		"a long equal text":        {`{"const":"b"}`, `"` + long + `"`, false, true},
		"a deep value": {`{"properties":{"c":{"items":{"$ref":"#"}}},"allOf":[{"type":"object"}]}`, nested,
			true, true},
		"annotations that " +
			"add up": {`{"items":{"unevaluatedProperties":false,"allOf":[{"additionalProperties":true},` +
			`{"additionalProperties":true}]}}`, "[" + strings.Repeat(`{"a":1,"b":2},`, 150_000) + "{}]", false, false},
	} {
		s, err := Read(json.RawMessage(c.schema))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fits, err := s.Fits(t.Context(), c.value)
		if fits != c.fits || (err == nil) != c.ends || err != nil && !errors.Is(err, ErrBudget) {
			t.Errorf("%s: %v, %v", name, fits, err)
		}
	}
}

// The end of its context ends a check at any point.
func TestChecksAreCancelled(t *testing.T) {
	t.Parallel()
	s, err := Read(json.RawMessage(doubling(`"allOf":[` + costly + `]`)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("cancelled")
	cancel(why)
	if _, err := s.Check(ctx, json.RawMessage(`{}`)); !errors.Is(err, why) {
		t.Errorf("the check ended with %v", err)
	}
	if fits, err := s.Fits(ctx, `{}`); fits || !errors.Is(err, why) {
		t.Errorf("the look ended with %v, %v", fits, err)
	}
}

// A value whose check did not finish never counts as fitting, and the second look for null in place of absent arguments
// gets no budget of its own.
func TestABudgetForBothLooks(t *testing.T) {
	t.Parallel()
	s, err := Read(json.RawMessage(doubling(`"allOf":[` + costly + `]`)))
	if err != nil {
		t.Fatal(err)
	}
	if wrong, err := s.Check(t.Context(), json.RawMessage(`{"a":null}`)); wrong != "" || !errors.Is(err, ErrBudget) {
		t.Errorf("%q, %v", wrong, err)
	}
}

// If nobody is told why a value does not fit, no sentence about it is built: checking the values of a long enum costs
// as much as of a short one.
//
//nolint:paralleltest // it counts allocations
func TestSilentRefusalsMakeNoSentence(t *testing.T) {
	numbers := make([]string, 11_500)
	for i := range numbers {
		numbers[i] = fmt.Sprint(i)
	}
	enum := `{"enum":[` + strings.Join(numbers, ",") + `]}`
	const levels = 24
	var defs []string
	for i := range levels {
		next := fmt.Sprintf(`{"$ref":"#/$defs/a%d"}`, i+1)
		defs = append(defs, fmt.Sprintf(`"a%d":{"anyOf":[{"not":%s},{"not":%s}]}`, i, next, next))
	}
	defs = append(defs, fmt.Sprintf(`"a%d":%s`, levels, enum))
	types := strings.Repeat(`{"type":["string","null","boolean","array","object"]},`, 1000)
	for name, c := range map[string]struct {
		schema, value string
		fits          bool
	}{
		"a long enum, asked often": {`{"items":{"anyOf":[` + enum + `,{}]}}`,
			`[` + strings.Repeat("-1,", 999) + `-1]`, true},
		"at the end of a chain": {`{"$defs":{` + strings.Join(defs, ",") + `},"items":{"$ref":"#/$defs/a0"}}`,
			`[-1]`, false},
		"many schemas": {`{"items":{"anyOf":[{"anyOf":[` + types + `false]},{}]}}`,
			`[` + strings.Repeat("-1,", 150) + `-1]`, true},
	} {
		s, err := Read(json.RawMessage(c.schema))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		fits, err := s.Fits(t.Context(), c.value)
		runtime.ReadMemStats(&after)
		if made := after.TotalAlloc - before.TotalAlloc; fits != c.fits || err != nil || made > 16<<20 {
			t.Errorf("%s: %v, %v, and %d bytes were made", name, fits, err, made)
		}
	}
}

// A check's budget pays for the sentence about a long enum, the key of a list, and the resources searched by a
// $dynamicRef.
func TestChecksPayForTheirWork(t *testing.T) {
	t.Parallel()
	distinct := make([]string, 5000)
	for i := range distinct {
		distinct[i] = fmt.Sprint(i)
	}
	ones := "[" + strings.Repeat("1,", 9999) + "1]"
	scopes := ""
	const depth = 20
	for i := range depth {
		scopes += fmt.Sprintf(`{"$id":"https://example.com/%d","allOf":[`, i)
	}
	scopes += `{"$id":"https://example.com/last","$dynamicAnchor":"n","items":{"$dynamicRef":"#n"}}` + strings.Repeat(
		`]}`,
		depth,
	)
	for name, c := range map[string]struct {
		schema, value string
		least         int // steps, besides reading the value
	}{
		"a sentence":          {`{"enum":[` + strings.Join(distinct, ",") + `]}`, `-1`, len(distinct)},
		"a long enum":         {`{"enum":[` + strings.Repeat("1,", 10) + ones + `]}`, ones, len(ones) / keyPerStep},
		"through $dynamicRef": {scopes, `[[],[],[],[],[],[],[],[],[],[]]`, 10 * depth},
	} {
		s, err := Read(json.RawMessage(c.schema))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		check := s.check(t.Context())
		given, err := check.decode([]byte(c.value))
		if err != nil {
			t.Fatal(err)
		}
		before := check.left
		check.fits(s.root, &given)
		if spent := before - check.left; spent < c.least || check.err != nil {
			t.Errorf("%s: %d steps, want %d: %v", name, spent, c.least, check.err)
		}
	}
	if _, err := Read(
		json.RawMessage(`{"properties":{"a":{"$recursiveRef":"#"}}}`),
	); err == nil ||
		!strings.Contains(err.Error(), "$recursiveRef") {
		t.Errorf("$recursiveRef: %v", err)
	}
}

// TestValuesThatGrow: a value that takes far more memory than its text is refused before it is read.
func TestValuesThatGrow(t *testing.T) {
	t.Parallel()
	wanted, err := Read(json.RawMessage(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	text := `{"a":[` + strings.Repeat(`{"":0},`, 1<<17) + `0]}`
	if _, err := wanted.Check(t.Context(), json.RawMessage(text)); !errors.Is(err, ErrBudget) {
		t.Errorf("arguments: %v; want %v", err, ErrBudget)
	}
	if fits, err := wanted.Fits(t.Context(), text); fits || !errors.Is(err, ErrBudget) {
		t.Errorf("an answer: %t, %v; want %v", fits, err, ErrBudget)
	}
}

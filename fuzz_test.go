package parley_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"example.org/parley"
)

func FuzzParseID(f *testing.F) {
	for _, seed := range []string{"", "01976c1e-7a4b-7def-8123-456789abcdef", "01976C1E-7A4B-7DEF-8123-456789ABCDEF",
		"01976c1e-7a4b-7def-8123-456789abcdeg"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := parley.ParseID(text)
		if err != nil {
			if !id.IsZero() || parley.ErrorCode(err) != parley.CodeInvalid {
				t.Errorf("refused with %s and %v", id, err)
			}
			return
		}
		again, err := parley.ParseID(id.String())
		if err != nil || again != id {
			t.Errorf("%q is %s, which reads %s, %v", text, id, again, err)
		}
	})
}

func FuzzCanonicalJSON(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":[1.50,-0,1e400]}`, `"\ud800"`, `123456789012345678901`, `{"":{"":{}}}`,
		`[`, `1e-9`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		once, err := parley.CanonicalJSON(raw)
		if err != nil {
			if parley.ErrorCode(err) != parley.CodeInvalid {
				t.Errorf("refused with %v", err)
			}
			return
		}
		if !json.Valid(raw) {
			t.Errorf("%q is not JSON and became %s", raw, once)
		}
		twice, err := parley.CanonicalJSON(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%q became %s and then %s, %v", raw, once, twice, err)
		}
	})
}

func FuzzValidateContent(f *testing.F) {
	for i, seed := range []string{`{"text":"hi"}`, `{"text":"a","reasoning":"b"}`,
		`{"id":"1","name":"n","arguments":{"a":1}}`,
		`{"result":null,"success":false}`, `{"text":"\u0000"}`, `{"text":{}}`,
		`{"parts":[{"type":"text","text":"a","citations":[{"start":0,"end":1}]},{"type":"link","url":"x:y"}]}`,
		`{"parts":[{"type":"object","object":{"a":[1.50]}},` +
			`{"type":"image","file_id":"01890a5d-ac96-774b-bcce-b302099a8057"}]}`,
		`{"parts":[{"type":"reasoning","text":"a"},{"type":"refusal","text":"b"}]}`} {
		f.Add(uint8(i), []byte(seed))
	}
	roles := []parley.Role{
		parley.RoleUser,
		parley.RoleAssistant,
		parley.RoleToolCall,
		parley.RoleToolResult,
		parley.RoleSummary,
		parley.RoleSystem,
	}
	f.Fuzz(func(t *testing.T, choice uint8, raw []byte) {
		role := roles[int(choice)%len(roles)]
		content, err := parley.ValidateContent(role, raw)
		if err != nil {
			if parley.ErrorCode(err) != parley.CodeInvalid {
				t.Errorf("refused with %v", err)
			}
			return
		}
		if bytes.Contains(content, []byte{0}) {
			t.Errorf("a NUL came through: %q", content)
		}
		again, err := parley.ValidateContent(role, content)
		if err != nil || !bytes.Equal(content, again) {
			t.Errorf("%s %q became %s and then %s, %v", role, raw, content, again, err)
		}
		checkAnswered(t, role, content)
		if _, err := parley.ChainHash(
			parley.Hash{},
			parley.ChainInput{
				Version: parley.ChainVersion,
				Role:    role,
				Status:  parley.MessageCompleted,
				Content: content,
			},
		); err != nil {
			t.Errorf("%s has no hash: %v", content, err)
		}
	})
}

// checkAnswered requires both forms in the answer for a content, and that the answer may be posted again.
func checkAnswered(t *testing.T, role parley.Role, content []byte) {
	t.Helper()
	answered := parley.AppendContent(nil, role, content)
	if again := parley.AppendContent(nil, role, answered); !bytes.Equal(answered, again) {
		t.Errorf("%s %s is answered as %s and then as %s", role, content, answered, again)
	}
	var both map[string]json.RawMessage
	if err := json.Unmarshal(answered, &both); err != nil {
		t.Fatalf("%s %s is answered as %s: %v", role, content, answered, err)
	}
	switch role {
	case parley.RoleUser, parley.RoleAssistant, parley.RoleToolResult:
		if both["parts"] == nil || role != parley.RoleToolResult && both["text"] == nil {
			t.Errorf("%s %s is answered as %s", role, content, answered)
		}
	}
	posted, err := parley.ValidateContent(role, answered)
	if err != nil && parley.CheckJSON(answered) != nil {
		return // nests deeper than what may be posted
	}
	if !bytes.Equal(posted, content) && !bytes.HasPrefix(content, []byte(`{"files":[`)) {
		t.Errorf("%s %s is answered as %s, which is posted as %s, %v", role, content, answered, posted, err)
	}
}

// FuzzCheckJSON: by the standard library's reading, accepted JSON has no duplicate member and no half of a surrogate
// pair.
func FuzzCheckJSON(f *testing.F) {
	for _, seed := range []string{`{"a":1,"\u0061":2}`, `["\ud83d\ude00","\ud83d"]`, `{"a":{"b":[{"c":"\u0000"}]}}`,
		"{\"a\":\"\xff\"}", `{"a":"b\`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := parley.CheckJSON(raw)
		if err != nil && parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("refused with %v", err)
		}
		if err != nil || !json.Valid(raw) {
			return
		}
		if text, twice := memberTwice(json.NewDecoder(bytes.NewReader(raw))); twice {
			t.Errorf("%s has the member %q twice", raw, text)
		}
		if canonical, err := parley.CanonicalJSON(
			raw,
		); err == nil && bytes.ContainsRune(canonical, utf8.RuneError) && !bytes.ContainsRune(raw, utf8.RuneError) &&
			!bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`)) {
			t.Errorf("%s holds half of a surrogate pair", raw)
		}
	})
}

// memberTwice finds a name that occurs twice in an object.
func memberTwice(decoder *json.Decoder) (name string, twice bool) {
	var seen []map[string]bool // of the open objects; nil for an array
	isName := false
	for {
		token, err := decoder.Token()
		if err != nil {
			return "", false
		}
		switch t := token.(type) {
		case json.Delim:
			switch t {
			case '{':
				seen, isName = append(seen, map[string]bool{}), true
				continue
			case '[':
				seen, isName = append(seen, nil), false
				continue
			}
			seen = seen[:len(seen)-1]
		case string:
			if isName {
				if of := seen[len(seen)-1]; of[t] {
					return t, true
				} else {
					of[t] = true
				}
				isName = false
				continue
			}
		}
		isName = len(seen) > 0 && seen[len(seen)-1] != nil
	}
}

// FuzzTexts: names, times and traces from outside are read or refused.
func FuzzTexts(f *testing.F) {
	for _, seed := range []string{"", "Ärger & Freude", "2026-11-22T10:00:00.000Z", `"9999-12-31T23:59:59.999Z"`,
		`{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`, "sim/echo", "a\x00b",
		"(a?){100}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if slug := parley.Slugify(text); slug != "" && parley.ValidateSlug(slug) != nil {
			t.Errorf("%q became the slug %q", text, slug)
		}
		if title := parley.TitleFrom(text); utf8.RuneCountInString(title) > parley.TitleRunes+1 {
			t.Errorf("%q became the title %q", text, title)
		}
		var at parley.Time
		if at.UnmarshalText([]byte(text)) == nil {
			var again parley.Time
			if err := again.UnmarshalText([]byte(at.String())); err != nil || again != at {
				t.Errorf("%q is %s and then %s, %v", text, at, again, err)
			}
		}
		_ = parley.ModelID(text).Validate()
		_ = parley.TraceParentOf([]byte(text))
		_ = parley.CheckText("text", text, 64)
		if compiled, size, err := parley.CompilePattern(text, 1000); err == nil && (compiled == nil || size > 1000) {
			t.Errorf("%q compiles to %d instructions", text, size)
		}
	})
}

package parley_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/parley"
)

// TestBothFormsAreAnswered: whichever form is stored, clients get the parts and their short form. ShortContent returns
// only the short form, if it says everything.
func TestBothFormsAreAnswered(t *testing.T) {
	t.Parallel()
	const id, other = "01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058"
	for name, test := range map[string]struct {
		role                    parley.Role
		stored, answered, short string // short: "" for the stored one
	}{
		"a text": {parley.RoleUser, `{"parts":[{"text":"Hi \"\\","type":"text"}]}`,
			`{"parts":[{"text":"Hi \"\\","type":"text"}],"text":"Hi \"\\"}`, `{"text":"Hi \"\\"}`},
		"a text from before": {parley.RoleUser, `{"text":"Hi","think":true}`,
			`{"parts":[{"text":"Hi","type":"text"}],"text":"Hi","think":true}`, `{"text":"Hi","think":true}`},
		"everything of a user": {parley.RoleUser, `{"parts":[{"file_id":"` + id + `","type":"image"},` +
			`{"text":"a","type":"text"},` +
			`{"title":"T","type":"link","url":"x:y"},{"text":"b","type":"text"},{"file_id":"` + other + `",` +
			`"type":"file"},` +
			`{"object":{"text":"no"},"type":"object"}],"search":true}`,
			`{"files":["` + id + `","` + other + `"],"links":["x:y"],"parts":[{"file_id":"` + id + `",` +
				`"type":"image"},` +
				`{"text":"a","type":"text"},{"title":"T","type":"link","url":"x:y"},{"text":"b","type":"text"},` +
				`{"file_id":"` + other + `","type":"file"},{"object":{"text":"no"},"type":"object"}],"search":true,` +
				`"text":"a\n\nb"}`, ""},
		"everything of a user from before": {parley.RoleUser,
			`{"files":["` + id + `"],"links":["x:y","","x:z"],"text":"a"}`,
			`{"files":["` + id + `"],"links":["x:y","","x:z"],"parts":[{"file_id":"` + id + `","type":"file"},` +
				`{"text":"a","type":"text"},{"type":"link","url":"x:y"},{"type":"link","url":"x:z"}],"text":"a"}`,
			`{"files":["` + id + `"],"links":["x:y","","x:z"],"text":"a"}`},
		"an empty answer": {parley.RoleAssistant, `{"parts":[]}`, `{"parts":[],` +
			`"text":""}`, `{"text":""}`},
		"an empty answer from before": {parley.RoleAssistant, `{"text":""}`, `{"parts":[],"text":""}`, `{"text":""}`},
		"an answer": {parley.RoleAssistant, `{"parts":[{"text":"r","type":"reasoning"},{"citations":[{"end":1,` +
			`"start":0,` +
			`"text":"\"type\":\"refusal\""}],"text":"a","type":"text"},{"text":"n","type":"refusal"}]}`,
			`{"parts":[{"text":"r","type":"reasoning"},{"citations":[{"end":1,"start":0,` +
				`"text":"\"type\":\"refusal\""}],` +
				`"text":"a","type":"text"},{"text":"n","type":"refusal"}],"reasoning":"r","refusal":"n","text":"a"}`,
			`{"reasoning":"r","refusal":"n","text":"a"}`},
		"an answer from before": {parley.RoleAssistant, `{"reasoning":"r","text":"a"}`,
			`{"parts":[{"text":"r","type":"reasoning"},{"text":"a","type":"text"}],"reasoning":"r","text":"a"}`,
			`{"reasoning":"r","text":"a"}`},
		"a result": {parley.RoleToolResult,
			`{"error":null,"execution_time_ms":5,"parts":[{"object":{"a":[1]},"type":"object"}],"success":true}`,
			`{"error":null,"execution_time_ms":5,"parts":[{"object":{"a":[1]},"type":"object"}],"result":{"a":[1]},` +
				`"success":true}`, `{"error":null,"execution_time_ms":5,"result":{"a":[1]},"success":true}`},
		"a result from before": {parley.RoleToolResult, `{"error":"e","execution_time_ms":null,"result":"a",` +
			`"success":false}`,
			`{"error":"e","execution_time_ms":null,"parts":[{"text":"a","type":"text"}],"result":"a",` +
				`"success":false}`,
			`{"error":"e","execution_time_ms":null,"result":"a","success":false}`},
		"no result": {parley.RoleToolResult, `{"error":null,"execution_time_ms":null,"parts":[],"success":true}`,
			`{"error":null,"execution_time_ms":null,"parts":[],"result":null,"success":true}`,
			`{"error":null,"execution_time_ms":null,"result":null,"success":true}`},
		"an empty text as a result": {parley.RoleToolResult,
			`{"error":null,"execution_time_ms":null,"result":"","success":true}`,
			`{"error":null,"execution_time_ms":null,"parts":[{"object":"","type":"object"}],"result":"",` +
				`"success":true}`,
			`{"error":null,"execution_time_ms":null,"result":"","success":true}`},
		"a result of two things": {parley.RoleToolResult,
			`{"error":null,"execution_time_ms":null,"parts":[{"text":"a","type":"text"},{"text":"b",` +
				`"type":"text"}],` +
				`"success":true}`,
			`{"error":null,"execution_time_ms":null,"parts":[{"text":"a","type":"text"},{"text":"b",` +
				`"type":"text"}],` +
				`"success":true}`, ""},
		"a call":                 {parley.RoleToolCall, `{"arguments":{"parts":[]},"id":"1","name":"n"}`, "", ""},
		"a summary":              {parley.RoleSummary, `{"text":"s"}`, "", ""},
		"an unknown member":      {parley.RoleUser, `{"colour":"red","text":"a"}`, "", ""},
		"an unknown part":        {parley.RoleUser, `{"parts":[{"text":"a","type":"video"}]}`, "", ""},
		"parts that are no list": {parley.RoleUser, `{"parts":{"a":1}}`, "", ""},
		"no object":              {parley.RoleUser, `[1]`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.answered == "" {
				test.answered = test.stored
			}
			if test.short == "" {
				test.short = test.stored
			}
			if got := string(
				parley.AppendContent([]byte("1"), test.role, []byte(test.stored)),
			); got != "1"+test.answered {
				t.Errorf("is answered as\n%s, want\n%s", got[1:], test.answered)
			}
			if got := string(parley.ShortContent(test.role, []byte(test.stored))); got != test.short {
				t.Errorf("is in short\n%s, want\n%s", got, test.short)
			}
			spaced := strings.ReplaceAll(test.stored, `,"`, ` , "`)
			if got := parley.AppendContent(nil, test.role, []byte(spaced)); test.answered != test.stored &&
				string(got) != test.answered {
				t.Errorf("with white space it is answered as %s", got)
			}
		})
	}
}

// TestFormsOfValuesAgreeWithFormsOfJSON: whichever form is stored, decoding it into the structs gives the same as the
// JSON that clients get.
func TestFormsOfValuesAgreeWithFormsOfJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		user := parley.UserContent{Text: text.Draw(t, "text"), Links: rapid.SliceOfN(text, 0, 2).Draw(t, "links")}
		said := parley.AssistantContent{
			Text: text.Draw(t, "said"), Reasoning: text.Draw(t, "reasoning"), Refusal: text.Draw(t, "refusal"),
		}
		result := parley.ToolResultContent{Result: json.RawMessage(jsonText(2).Draw(t, "result"))}
		if raw, err := parley.CanonicalJSON(result.Result); err == nil {
			result.Result = raw
		}
		agree(t, parley.RoleUser, user, map[string]any{"links": user.Links, "text": user.Text})
		agree(t, parley.RoleAssistant, said,
			map[string]any{"reasoning": said.Reasoning, "refusal": said.Refusal, "text": said.Text})
		agree(t, parley.RoleToolResult, result, map[string]any{"error": nil, "execution_time_ms": nil,
			"result": result.Result, "success": false})
	})
}

// agree compares a content, its two stored forms and their answers.
func agree[C parley.UserContent | parley.AssistantContent | parley.ToolResultContent](
	t *rapid.T,
	role parley.Role,
	content C,
	short map[string]any,
) {
	stored, err := parley.EncodeContent(content)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := parley.EncodeJSON(short)
	if err != nil {
		t.Fatal(err)
	}
	before, err := parley.CanonicalJSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	read := func(raw []byte) (read C) {
		if err := json.Unmarshal(raw, &read); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		return read
	}
	want := read(stored)
	for _, form := range [][]byte{
		parley.AppendContent(nil, role, stored), parley.AppendContent(nil, role, before), before,
	} {
		if diff := cmp.Diff(want, read(form), emptyIsNone()); diff != "" {
			t.Fatalf("%s and %s read differently:\n%s", stored, form, diff)
		}
	}
	if text, plain := parley.PlainText(stored); plain {
		var value any = want
		switch c := value.(type) {
		case parley.UserContent:
			if c.Text != text || len(c.Parts) > 1 {
				t.Fatalf("%s is taken for the text %q", stored, text)
			}
		case parley.AssistantContent:
			if c.Text != text || c.Reasoning != "" || c.Refusal != "" {
				t.Fatalf("%s is taken for the text %q", stored, text)
			}
		}
	}
}

// TestPlainContentsReadAsTheLongWay: a content of one text, which is read quickly, reads as any other.
func TestPlainContentsReadAsTheLongWay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(),
			rapid.StringMatching(`(\\|"|[a-z]|\n|\\u[0-9a-d]{4}|é){0,8}`)).Draw(t, "text")
		quoted := parley.AppendJSONString(nil, text)
		if rapid.Bool().Draw(t, "raw") {
			quoted = []byte(`"` + text + `"`) // perhaps no JSON
		}
		for _, form := range []string{
			`{"parts":[{"text":%s,"type":"text"}]}`, `{"parts":[{"text":%s,"type":"text"}],"text":%[1]s}`,
			`{"text":%s}`, `{"parts":[{"text":%s,"type":"text"}],"text":"b"}`, `{"parts":[{"text":%s,"type":"text"}]}}`,
			`{"parts":[{"text":%s,"type":"refusal"}]}`,
			`{"parts":[{"text":%s,"type":"text"},{"text":"b","type":"text"}]}`,
		} {
			raw := fmt.Appendf(nil, form, quoted)
			sameWays[parley.UserContent](t, raw)
			sameWays[parley.AssistantContent](t, raw)
		}
	})
}

// sameWays compares how a content is read with how it is read behind a space, which no quick way expects.
func sameWays[C any, P interface {
	*C
	json.Unmarshaler
}](t *rapid.T, raw []byte) {
	var quick, long C
	gave, wanted := P(&quick).UnmarshalJSON(raw), P(&long).UnmarshalJSON(append([]byte(" "), raw...))
	if (gave == nil) != (wanted == nil) {
		t.Fatalf("%s: %v, the long way %v", raw, gave, wanted)
	}
	if diff := cmp.Diff(long, quick); wanted == nil && diff != "" {
		t.Fatalf("%s reads differently:\n%s", raw, diff)
	}
}

// emptyIsNone treats an empty link as none, because parts leave it out.
func emptyIsNone() cmp.Option {
	return cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Links" },
		cmp.Transformer("withoutEmpty", func(links []string) string {
			return strings.TrimSpace(strings.Join(strings.Fields(strings.Join(links, " ")), " "))
		}))
}

// TestFilesInShortBecomeParts: the type of a file decides the type of its part.
func TestFilesInShortBecomeParts(t *testing.T) {
	t.Parallel()
	image := parley.File{
		ID:        parley.NewID(),
		Name:      "a.png",
		MediaType: "image/png",
		SHA256:    parley.HashOf(nil),
		Width:     1,
		Height:    1,
	}
	text := parley.File{ID: parley.NewID(), Name: "b.txt", MediaType: "text/plain", SHA256: parley.HashOf([]byte("b"))}
	short, err := parley.ValidateContent(parley.RoleUser, json.RawMessage(
		`{"text":"Look","links":["x:y"],"files":["`+image.ID.String()+`","`+text.ID.String()+`"],"think":true}`))
	if err != nil {
		t.Fatal(err)
	}
	part := func(f parley.File, of string) string {
		return `{"file_id":"` + f.ID.String() + `","media_type":"` + f.MediaType + `","name":"` + f.Name + `",` +
			`"sha256":"` +
			f.SHA256.String() + `","type":"` + of + `"}`
	}
	want := `{"parts":[` + part(image, "image") + `,` + part(text, "file") + `,{"text":"Look","type":"text"},` +
		`{"type":"link","url":"x:y"}],"think":true}`
	if got, err := parley.FillParts(short, []parley.File{text, image}); err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if got, err := parley.FillParts(short, []parley.File{text}); parley.ErrorCode(err) != parley.CodeInvalid {
		t.Errorf("without one of the files: %s, %v", got, err)
	}
}

// TestCitationsAreCountedInBytes: positions in characters become bytes, and a citation that reaches beyond the text
// ends with it.
func TestCitationsAreCountedInBytes(t *testing.T) {
	t.Parallel()
	content := parley.AssistantContent{Text: "aé😀b", Reasoning: "r"}
	content.Cite(
		[]parley.Citation{
			{Start: 1, End: 3, URL: "x:y"},
			{Start: 3, End: 1 << 30},
			{Start: 9, End: 2},
			{Start: 0, End: 4},
		},
	)
	stored, err := parley.EncodeContent(content)
	want := `{"parts":[{"text":"r","type":"reasoning"},{"citations":[{"end":7,"start":1,"url":"x:y"},{"end":8,` +
		`"start":7},` +
		`{"end":8,"start":8},{"end":8,"start":0}],"text":"aé😀b","type":"text"}]}`
	if err != nil || string(stored) != want {
		t.Fatalf("got %s, %v; want %s", stored, err, want)
	}
	if again, err := parley.ValidateContent(parley.RoleAssistant, stored); err != nil || string(again) != want {
		t.Errorf("is not a content: %s, %v", again, err)
	}
	many := parley.AssistantContent{Text: "a"}
	many.Cite(make([]parley.Citation, parley.MaxCitations+1))
	if n := len(many.Parts[0].Citations); n != parley.MaxCitations {
		t.Errorf("%d citations are kept", n)
	}
}

// TestManyTextsAreJoinedOnce: the work does not grow with the square of the number of parts.
func TestManyTextsAreJoinedOnce(t *testing.T) { //nolint:paralleltest // it counts allocations
	text := parley.Part{Type: parley.PartText, Text: strings.Repeat("x", 64)}
	parts := make([]parley.Part, parley.MaxParts)
	for i := range parts {
		parts[i] = text
	}
	content, err := parley.EncodeContent(parley.UserContent{Parts: parts})
	if err != nil {
		t.Fatal(err)
	}
	to := make([]byte, 0, 4*len(content))
	if got := testing.AllocsPerRun(
		10,
		func() { to = parley.AppendContent(to[:0], parley.RoleUser, content) },
	); got > 16 {
		t.Errorf("%d texts take %v allocations", len(parts), got)
	}
}

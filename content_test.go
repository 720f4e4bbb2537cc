package parley_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
)

func TestValidateContentGivesCanonicalJSON(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		role     parley.Role
		in, want string
	}{
		"user": {parley.RoleUser, `{ "think":true, "text":"hi" }`,
			`{"parts":[{"text":"hi","type":"text"}],"think":true}`},
		"user with links": {parley.RoleUser, `{"links":["https://a.example"],"text":""}`,
			`{"parts":[{"type":"link","url":"https://a.example"}]}`},
		"user with files": {parley.RoleUser, // which parts they are depends on the files
			`{"text":"hi","links":[""],"files":["01890A5D-AC96-774B-BCCE-B302099A8057"]}`,
			`{"files":["01890a5d-ac96-774b-bcce-b302099a8057"],"text":"hi"}`},
		"user, no files": {parley.RoleUser, `{"text":"hi","files":[]}`, `{"parts":[{"text":"hi","type":"text"}]}`},
		"markup": {parley.RoleUser, `{"text":"<b>&\u2028"}`,
			"{\"parts\":[{\"text\":\"<b>&\u2028\",\"type\":\"text\"}]}"},
		"assistant": {parley.RoleAssistant, `{"text":"a","reasoning":"r"}`,
			`{"parts":[{"text":"r","type":"reasoning"},{"text":"a","type":"text"}]}`},
		"empty assistant": {parley.RoleAssistant, `{}`, `{"parts":[]}`},
		"tool call": {parley.RoleToolCall, `{"name":"n","id":"1","arguments":{"b":1.0,"a":[]}}`,
			`{"arguments":{"a":[],"b":1},"id":"1","name":"n"}`},
		"result": {parley.RoleToolResult, `{"result":{"z":1,"a":2}}`,
			`{"error":null,"execution_time_ms":null,"parts":[{"object":{"a":2,"z":1},"type":"object"}],` +
				`"success":true}`},
		"result of a text": {parley.RoleToolResult, `{"result":"a"}`,
			`{"error":null,"execution_time_ms":null,"parts":[{"text":"a","type":"text"}],"success":true}`},
		"result with error": {parley.RoleToolResult, `{"error":"no"}`,
			`{"error":"no","execution_time_ms":null,"parts":[],"success":false}`},
		"result, said failed": {parley.RoleToolResult, `{"result":1,"success":false}`,
			`{"error":null,"execution_time_ms":null,"parts":[{"object":1,"type":"object"}],"success":false}`},
		"both forms of a user": {parley.RoleUser, `{"links":["x:y"],"parts":[{"type":"text","text":"a"},` +
			`{"type":"link","url":"x:y"}],"text":"a"}`,
			`{"parts":[{"text":"a","type":"text"},{"type":"link","url":"x:y"}]}`},
		"both forms of a result": {parley.RoleToolResult,
			`{"result":{"b":1.0},"parts":[{"type":"object","object":{"b":1}}]}`,
			`{"error":null,"execution_time_ms":null,"parts":[{"object":{"b":1},"type":"object"}],"success":true}`},
		"user in parts": {parley.RoleUser, `{"think":true,"parts":[{"type":"text","text":"Look"},` +
			`{"type":"image","file_id":"01890A5D-AC96-774B-BCCE-B302099A8057"},` +
			`{"url":"x:y","type":"link","title":""}]}`,
			`{"parts":[{"text":"Look","type":"text"},` +
				`{"file_id":"01890a5d-ac96-774b-bcce-b302099a8057","type":"image"},` +
				`{"type":"link","url":"x:y"}],"think":true}`},
		"assistant in parts": {parley.RoleAssistant, `{"parts":[{"type":"reasoning","text":"Hm."},` +
			`{"type":"text","text":"Here","citations":[{"start":0,"end":4,"url":"x:y"}]}]}`,
			`{"parts":[{"text":"Hm.","type":"reasoning"},` +
				`{"citations":[{"end":4,"start":0,"url":"x:y"}],"text":"Here","type":"text"}]}`},
		"result in parts": {parley.RoleToolResult, `{"parts":[{"type":"object","object":{"b":1.0,"a":null}}]}`,
			`{"error":null,"execution_time_ms":null,"parts":[{"object":{"a":null,"b":1},"type":"object"}],` +
				`"success":true}`},
		"summary": {parley.RoleSummary, `{"text":"s"}`, `{"text":"s"}`},
		"system":  {parley.RoleSystem, `{"text":"s"}`, `{"text":"s"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parley.ValidateContent(test.role, json.RawMessage(test.in))
			if err != nil || string(got) != test.want {
				t.Fatalf("got %s, %v; want %s", got, err, test.want)
			}
			again, err := parley.ValidateContent(test.role, got)
			if err != nil || string(again) != test.want {
				t.Errorf("its own output became %s, %v", again, err)
			}
		})
	}
}

func TestValidateContentNamesTheField(t *testing.T) {
	t.Parallel()
	links := `["` + strings.Join(make([]string, parley.MaxLinks+1), `","`) + `"]`
	for name, test := range map[string]struct {
		role      parley.Role
		in, field string
	}{
		"missing":  {parley.RoleUser, ``, "content"},
		"no parts": {parley.RoleUser, `{"parts":[]}`, "content.parts"},
		"parts and another text": {parley.RoleUser, `{"text":"b","parts":[{"type":"text","text":"a"}]}`,
			"content.parts"},
		"parts and another link": {parley.RoleUser, `{"links":["x:z"],"parts":[{"type":"link","url":"x:y"}]}`,
			"content.parts"},
		"parts and another refusal": {parley.RoleAssistant, `{"refusal":"b","parts":[{"type":"refusal","text":"a"}]}`,
			"content.parts"},
		"parts of two values and a result": {parley.RoleToolResult,
			`{"result":1,"parts":[{"type":"object","object":1},{"type":"object","object":1}]}`, "content.parts"},
		"empty links": {parley.RoleUser, `{"text":"","links":[""]}`, "content.text"},
		"long link": {parley.RoleUser, `{"text":"a","links":["` + strings.Repeat("x", parley.MaxLinkBytes+1) + `"]}`,
			"content.links"},
		"result, too deep as a part": {parley.RoleToolResult, `{"result":` +
			strings.Repeat("[", parley.MaxJSONDepth-2) + strings.Repeat("]", parley.MaxJSONDepth-2) + `}`, "content"},
		"parts and result": {parley.RoleToolResult, `{"result":1,"parts":[{"type":"text","text":"a"}]}`,
			"content.parts"},
		"a part without text": {parley.RoleUser, `{"parts":[{"type":"text"}]}`, "content.parts"},
		"a part with too much": {parley.RoleUser, `{"parts":[{"type":"text","text":"a","url":"x:y"}]}`,
			"content.parts"},
		"a part in capitals": {parley.RoleUser, `{"parts":[{"Type":"text","text":"a"}]}`, "content.parts"},
		"an unknown part":    {parley.RoleUser, `{"parts":[{"type":"video","text":"a"}]}`, "content.parts"},
		"a user's reasoning": {parley.RoleUser, `{"parts":[{"type":"reasoning","text":"a"}]}`, "content.parts"},
		"two growing texts": {parley.RoleAssistant, `{"parts":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`,
			"content.parts"},
		"a file twice": {parley.RoleUser, `{"parts":[` +
			`{"type":"file","file_id":"01890a5d-ac96-774b-bcce-b302099a8057"},` +
			`{"type":"image","file_id":"01890a5d-ac96-774b-bcce-b302099a8057"}]}`, "content.parts"},
		"a citation beyond its text": {parley.RoleAssistant, `{"parts":[{"type":"text","text":"a","citations":` +
			`[{"start":0,"end":2}]}]}`, "content.parts"},
		"too many parts": {parley.RoleUser, `{"parts":[` +
			strings.Repeat(`{"type":"text","text":"a"},`, parley.MaxParts) +
			`{"type":"text","text":"a"}]}`, "content.parts"},
		"not the id of a file": {parley.RoleUser, `{"parts":[{"type":"file","file_id":"x"}]}`, "content"},
		"null":                 {parley.RoleUser, ` null `, "content"},
		"array":                {parley.RoleUser, `[]`, "content"},
		"string":               {parley.RoleUser, `"hi"`, "content"},
		"broken":               {parley.RoleUser, `{"text":`, "content"},
		"two values":           {parley.RoleUser, `{"text":"a"}{"text":"b"}`, "content"},
		"unknown field":        {parley.RoleUser, `{"text":"a","colour":"red"}`, "content.colour"},
		"another role's field": {parley.RoleUser, `{"text":"a","reasoning":"r"}`, "content.reasoning"},
		"wrong type":           {parley.RoleUser, `{"text":7}`, "content.text"},
		"wrong flag":           {parley.RoleUser, `{"text":"a","think":"yes"}`, "content.think"},
		"wrong links":          {parley.RoleUser, `{"text":"a","links":"x"}`, "content.links"},
		"wrong link":           {parley.RoleUser, `{"text":"a","links":[1]}`, "content.links"},
		"empty text":           {parley.RoleUser, `{"text":" \n"}`, "content.text"},
		"no text":              {parley.RoleUser, `{}`, "content.text"},
		"files":                {parley.RoleUser, `{"text":"a","files":["f"]}`, "content.files"},
		"too many links":       {parley.RoleUser, `{"text":"a","links":` + links + `}`, "content.links"},
		"call without id":      {parley.RoleToolCall, `{"name":"n","arguments":{}}`, "content.id"},
		"call without name":    {parley.RoleToolCall, `{"id":"1","arguments":{}}`, "content.name"},
		"call, no arguments":   {parley.RoleToolCall, `{"id":"1","name":"n"}`, "content.arguments"},
		"call, null arguments": {parley.RoleToolCall, `{"id":"1","name":"n","arguments":null}`, "content.arguments"},
		"call, array":          {parley.RoleToolCall, `{"id":"1","name":"n","arguments":[]}`, "content.arguments"},
		"call, long name": {parley.RoleToolCall,
			`{"id":"1","name":"` + strings.Repeat("n", parley.MaxNameBytes+1) + `","arguments":{}}`, "content.name"},
		"result, wrong time": {parley.RoleToolResult, `{"result":1,"execution_time_ms":"fast"}`,
			"content.execution_time_ms"},
		"result, wrong error": {parley.RoleToolResult, `{"error":7}`, "content.error"},
		"summary, unknown":    {parley.RoleSummary, `{"text":"a","think":true}`, "content.think"},
		"unknown role":        {"narrator", `{"text":"a"}`, "role"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parley.ValidateContent(test.role, json.RawMessage(test.in))
			var refusal *parley.Error
			if !errors.As(err, &refusal) || refusal.Code != parley.CodeInvalid {
				t.Fatalf("got %s, %v; want invalid", got, err)
			}
			if field := refusal.Field; field != test.field && !strings.HasPrefix(field, test.field+".") {
				t.Errorf("the refusal names %q; want %q (%s)", field, test.field, refusal.Message)
			}
		})
	}
}

func TestValidateContentRefusesWhatCannotBeStored(t *testing.T) {
	t.Parallel()
	for _, role := range []parley.Role{parley.RoleUser, parley.RoleAssistant, parley.RoleSummary, parley.RoleSystem} {
		for _, in := range []string{`{"text":"a\u0000b"}`, "{\"text\":\"a\xffb\"}",
			`{"text":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`} {
			if got, err := parley.ValidateContent(
				role,
				json.RawMessage(in),
			); parley.ErrorCode(
				err,
			) != parley.CodeInvalid {
				t.Errorf("%s %.30q became %s, %v; want invalid", role, in, got, err)
			}
		}
	}
	if _, err := parley.ValidateContent(parley.RoleToolResult, json.RawMessage(`{"result":{"\u0000":1}}`)); err == nil {
		t.Error("a NUL inside a tool's result is accepted")
	}
}

func TestEncodeContentIsCanonical(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		encode := []func() (json.RawMessage, error){
			func() (json.RawMessage, error) {
				return parley.EncodeContent(
					parley.UserContent{
						Text:  text.Draw(t, "text"),
						Links: rapid.SliceOfN(text, 0, 2).Draw(t, "links"),
						Think: rapid.Bool().Draw(t, "think"),
					},
				)
			},
			func() (json.RawMessage, error) {
				return parley.EncodeContent(
					parley.AssistantContent{
						Text:      text.Draw(t, "text"),
						Reasoning: text.Draw(t, "reasoning"),
						Refusal:   text.Draw(t, "refusal"),
					},
				)
			},
			func() (json.RawMessage, error) {
				return parley.EncodeContent(
					parley.ToolCallContent{
						ID:        text.Draw(t, "id"),
						Name:      text.Draw(t, "name"),
						Arguments: json.RawMessage(jsonText(2).Draw(t, "arguments")),
					},
				)
			},
			func() (json.RawMessage, error) {
				failure := text.Draw(t, "error")
				return parley.EncodeContent(
					parley.ToolResultContent{Error: &failure, Result: json.RawMessage(jsonText(2).Draw(t, "result"))},
				)
			},
			func() (json.RawMessage, error) {
				return parley.EncodeContent(parley.TextContent{Text: text.Draw(t, "text")})
			},
		}
		encoded, err := encode[rapid.IntRange(0, len(encode)-1).Draw(t, "kind")]()
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := parley.CanonicalJSON(encoded)
		if err != nil || string(canonical) != string(encoded) {
			t.Fatalf("%s is not canonical, %s is (%v)", encoded, canonical, err)
		}
	})
}

func TestUnreadableContentKeepsTheRoleShape(t *testing.T) {
	t.Parallel()
	for _, role := range []parley.Role{parley.RoleUser, parley.RoleAssistant, parley.RoleToolCall,
		parley.RoleToolResult, parley.RoleSummary, parley.RoleSystem} {
		content, failure := parley.UnreadableContent(role, []byte("{\"text\":\"brok\xff"))
		if failure == nil || failure.Class != parley.ClassInternal || failure.Sentence == "" {
			t.Errorf("%s: no failure is reported: %+v", role, failure)
		}
		if !json.Valid(content) || !strings.Contains(string(content), "brok") {
			t.Errorf("%s: the raw text is not shown: %s", role, content)
		}
	}
}

func TestCheckText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		ok   bool
	}{{"", true}, {"four", true}, {"fives", false}, {"a\x00", false}, {"\xff", false}, {"éé", true}, {"ééé", false}} {
		err := parley.CheckText("name", test.text, 4)
		if (err == nil) != test.ok {
			t.Errorf("%q: %v", test.text, err)
		}
		var refusal *parley.Error
		if err != nil && (!errors.As(err, &refusal) || refusal.Field != "name") {
			t.Errorf("%q: the refusal does not name the field: %v", test.text, err)
		}
	}
}

func TestErrorCode(t *testing.T) {
	t.Parallel()
	cause := errors.New("the cause")
	wrapped := parley.WrapError(parley.CodeUnavailable, cause, "try later")
	for want, err := range map[parley.Code]error{
		"":                     nil,
		parley.CodeInternal:    cause,
		parley.CodeUnavailable: errors.Join(cause, wrapped),
		parley.CodeNotFound:    parley.Errorf(parley.CodeNotFound, "no %s", strconv.Itoa(1)),
	} {
		if got := parley.ErrorCode(err); got != want {
			t.Errorf("%v has code %q; want %q", err, got, want)
		}
	}
	if !errors.Is(wrapped, cause) || wrapped.Message != "try later" {
		t.Errorf("the cause is lost or shown: %q", wrapped.Message)
	}
}

// TestPartsReadLikeTheShortForm: readers of the short form find it filled in for a content in parts, which is written
// in parts again.
func TestPartsReadLikeTheShortForm(t *testing.T) {
	t.Parallel()
	raw := `{"parts":[{"text":"Look","type":"text"},{"file_id":"01890a5d-ac96-774b-bcce-b302099a8057","name":"a.png",` +
		`"type":"image"},{"text":"there","type":"text"},{"type":"link","url":"x:y"}],"search":true}`
	var user parley.UserContent
	if err := json.Unmarshal([]byte(raw), &user); err != nil || user.Text != "Look\n\nthere" || !user.Search ||
		strings.Join(
			user.Files,
			",",
		) != "01890a5d-ac96-774b-bcce-b302099a8057" || strings.Join(user.Links, ",") != "x:y" {
		t.Errorf("reads as %+v, %v", user, err)
	}
	if again, err := parley.EncodeContent(user); err != nil || string(again) != raw {
		t.Errorf("is written as %s, %v", again, err)
	}
	if files := parley.FilesOf([]byte(raw)); len(files) != 1 || files[0].String() != user.Files[0] {
		t.Errorf("names the files %v", files)
	}
	var answer parley.AssistantContent
	raw = `{"parts":[{"text":"Hm.","type":"reasoning"},{"text":"Here","type":"text"},{"text":"No","type":"refusal"}]}`
	if err := json.Unmarshal([]byte(raw), &answer); err != nil || answer.Text != "Here" || answer.Reasoning != "Hm." ||
		answer.Refusal != "No" {
		t.Errorf("reads as %+v, %v", answer, err)
	}
	if again, err := parley.EncodeContent(answer); err != nil || string(again) != raw {
		t.Errorf("is written as %s, %v", again, err)
	}
	if parts := parley.PartsOf([]byte(`{"arguments":{"parts":[{"type":"image"}]},"id":"1","name":"n"}`)); parts != nil {
		t.Errorf("the arguments of a call are parts: %v", parts)
	}
}

// TestPartsDescribeTheirFiles: the server's description is filled in, and a different one refused.
func TestPartsDescribeTheirFiles(t *testing.T) {
	t.Parallel()
	id := parley.NewID()
	file := parley.File{ID: id, Name: "a.png", MediaType: "image/png", SHA256: parley.HashOf(nil), Width: 1, Height: 1}
	in := func(part string) json.RawMessage {
		return json.RawMessage(`{"parts":[{"file_id":"` + id.String() + `",` + part + `}]}`)
	}
	got, err := parley.FillParts(in(`"type":"image"`), []parley.File{file})
	want := `{"parts":[{"file_id":"` + id.String() + `","media_type":"image/png","name":"a.png","sha256":"` +
		file.SHA256.String() + `","type":"image"}]}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	for _, part := range []string{
		`"type":"audio"`, `"media_type":"image/gif","type":"file"`,
		`"sha256":"` + parley.HashOf([]byte("x")).String() + `","type":"file"`,
	} {
		if _, err := parley.FillParts(in(part), []parley.File{file}); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%s: %v", part, err)
		}
	}
}

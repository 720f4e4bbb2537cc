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
		"user": {parley.RoleUser, `{ "think":true, "text":"hi" }`, `{"text":"hi","think":true}`},
		"user with links": {parley.RoleUser, `{"links":["https://a.example"],"text":""}`,
			`{"links":["https://a.example"],"text":""}`},
		"user, no files":  {parley.RoleUser, `{"text":"hi","files":[]}`, `{"text":"hi"}`},
		"markup":          {parley.RoleUser, `{"text":"<b>&\u2028"}`, "{\"text\":\"<b>&\u2028\"}"},
		"assistant":       {parley.RoleAssistant, `{"text":"a","reasoning":"r"}`, `{"reasoning":"r","text":"a"}`},
		"empty assistant": {parley.RoleAssistant, `{}`, `{"text":""}`},
		"tool call": {parley.RoleToolCall, `{"name":"n","id":"1","arguments":{"b":1.0,"a":[]}}`,
			`{"arguments":{"a":[],"b":1},"id":"1","name":"n"}`},
		"result": {parley.RoleToolResult, `{"result":{"z":1,"a":2}}`,
			`{"error":null,"execution_time_ms":null,"result":{"a":2,"z":1},"success":true}`},
		"result with error": {parley.RoleToolResult, `{"error":"no"}`,
			`{"error":"no","execution_time_ms":null,"result":null,"success":false}`},
		"result, said failed": {parley.RoleToolResult, `{"result":1,"success":false}`,
			`{"error":null,"execution_time_ms":null,"result":1,"success":false}`},
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
		"missing":              {parley.RoleUser, ``, "content"},
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
			t.Errorf("%s: no failure is told: %+v", role, failure)
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

package prompt_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley"
	"parley/prompt"
)

func text(s string) parley.RequestPart {
	return parley.RequestPart{Kind: parley.PartText, Text: s}
}

func said(role parley.RequestRole, parts ...parley.RequestPart) parley.RequestMessage {
	return parley.RequestMessage{Role: role, Parts: parts}
}

func callPart(id, arguments string) parley.RequestPart {
	return parley.RequestPart{Kind: parley.PartToolCall, CallID: id, Name: "search", Arguments: []byte(arguments)}
}

func resultPart(id, text string) parley.RequestPart {
	return parley.RequestPart{Kind: parley.PartToolResult, CallID: id, Name: "search", Text: text}
}

func errorPart(id, text string) parley.RequestPart {
	p := resultPart(id, text)
	p.IsError = true
	return p
}

func with(m parley.Message, change func(*parley.Message)) parley.Message {
	change(&m)
	return m
}

func TestBuildMessages(t *testing.T) {
	t.Parallel()
	turn, next := turnID(1), turnID(2)
	broken := "the tool broke"
	for _, test := range []struct {
		name string
		rows []parley.Message
		want []parley.RequestMessage
	}{
		{"rows of a step are one message, results follow in the order of the calls", []parley.Message{
			user(turn, "find"),
			assistant(turn, 1, parley.AssistantContent{Text: "looking"}),
			call(turn, 1, "a", `{"q":1}`), call(turn, 1, "b", `{"q":2}`),
			assistant(turn, 1, parley.AssistantContent{Text: "and waiting"}),
			result(turn, 1, "b", `{"n":2}`), result(turn, 1, "a", `"one"`),
			assistant(turn, 2, parley.AssistantContent{Text: "done"}),
		}, []parley.RequestMessage{
			said(parley.RequestUser, text("find")),
			said(parley.RequestAssistant, text("looking"), callPart("a", `{"q":1}`), callPart("b", `{"q":2}`), text("and waiting")),
			said(parley.RequestTool, resultPart("a", "one"), resultPart("b", `{"n":2}`)),
			said(parley.RequestAssistant, text("done")),
		}},
		{"an open call gets a result that says so", []parley.Message{
			call(turn, 1, "a", `{}`), user(next, "and?"),
		}, []parley.RequestMessage{
			said(parley.RequestAssistant, callPart("a", `{}`)),
			said(parley.RequestTool, errorPart("a", prompt.NoResult)),
			said(parley.RequestUser, text("and?")),
		}},
		{"orphan and second results are left out", []parley.Message{
			result(turn, 1, "a", `1`), call(turn, 2, "a", `{}`), result(turn, 2, "a", `2`), result(turn, 2, "a", `3`),
		}, []parley.RequestMessage{
			said(parley.RequestAssistant, callPart("a", `{}`)), said(parley.RequestTool, resultPart("a", "2")),
		}},
		{"an id used in two turns answers the call before it", []parley.Message{
			call(turn, 1, "a", `{}`), result(turn, 1, "a", `1`), call(next, 1, "a", `{}`), result(next, 1, "a", `2`),
		}, []parley.RequestMessage{
			said(parley.RequestAssistant, callPart("a", `{}`)), said(parley.RequestTool, resultPart("a", "1")),
			said(parley.RequestAssistant, callPart("a", `{}`)), said(parley.RequestTool, resultPart("a", "2")),
		}},
		{"failed results say the error", []parley.Message{
			call(turn, 1, "a", `{}`),
			with(result(turn, 1, "a", `null`), func(m *parley.Message) {
				m.Content = content(parley.ToolResultContent{Error: &broken, Result: json.RawMessage(`{"at":3}`)})
			}),
		}, []parley.RequestMessage{
			said(parley.RequestAssistant, callPart("a", `{}`)), said(parley.RequestTool, errorPart("a", "the tool broke\n{\"at\":3}")),
		}},
		{"malformed arguments become an empty object", []parley.Message{
			with(call(turn, 1, "a", `{}`), func(m *parley.Message) {
				m.Content = content(parley.ToolCallContent{ID: "a", Name: "search", Arguments: json.RawMessage("null"), ArgumentsText: `{"q":`})
			}), result(turn, 1, "a", `1`),
		}, []parley.RequestMessage{
			said(parley.RequestAssistant, callPart("a", `{}`)), said(parley.RequestTool, resultPart("a", "1")),
		}},
		{"a cancelled answer is kept with a note, its unfinished call is not", []parley.Message{
			with(assistant(turn, 1, parley.AssistantContent{Text: "half an ans"}), func(m *parley.Message) { m.Status = parley.MessageCancelled }),
			with(call(turn, 1, "a", `{}`), func(m *parley.Message) { m.Status = parley.MessageCancelled }),
			result(turn, 1, "a", `1`),
			user(next, "go on"),
		}, []parley.RequestMessage{
			said(parley.RequestAssistant, text("half an ans"), text(prompt.Interrupted)), said(parley.RequestUser, text("go on")),
		}},
		{"reasoning and provider data stay with their model", []parley.Message{
			with(assistant(turn, 1, parley.AssistantContent{Reasoning: "hm", Text: "a"}), func(m *parley.Message) { m.ProviderData = []byte("signed") }),
			with(assistant(turn, 2, parley.AssistantContent{Reasoning: "hm", Text: "b"}), func(m *parley.Message) {
				m.ProviderData, m.Model = []byte("foreign"), modelB
			}),
			assistant(turn, 3, parley.AssistantContent{Reasoning: "unsigned"}),
			with(assistant(turn, 4, parley.AssistantContent{Reasoning: "unsigned"}), func(m *parley.Message) { m.Model = modelB }),
			with(call(turn, 5, "a", `{}`), func(m *parley.Message) { m.ProviderData = []byte("exact") }), result(turn, 5, "a", "1"),
			with(call(turn, 6, "b", `{}`), func(m *parley.Message) { m.ProviderData, m.Model = []byte("foreign"), modelB }), result(turn, 6, "b", "1"),
		}, []parley.RequestMessage{
			said(parley.RequestAssistant, parley.RequestPart{Kind: parley.PartReasoning, Text: "hm", ProviderData: []byte("signed")}, text("a")),
			said(parley.RequestAssistant, text("b")),
			said(parley.RequestAssistant, parley.RequestPart{Kind: parley.PartReasoning, Text: "unsigned"}),
			said(parley.RequestAssistant, parley.RequestPart{Kind: parley.PartToolCall, CallID: "a", Name: "search", Arguments: []byte("{}"), ProviderData: []byte("exact")}),
			said(parley.RequestTool, resultPart("a", "1")),
			said(parley.RequestAssistant, callPart("b", "{}")),
			said(parley.RequestTool, resultPart("b", "1")),
		}},
		{"note, text and links", []parley.Message{
			with(user(turn, "read these"), func(m *parley.Message) {
				m.ContextNote = "The cursor is in main.go."
				m.Content = content(parley.UserContent{Text: "read these", Links: []string{"https://a.example", "https://b.example"}})
			}),
		}, []parley.RequestMessage{
			said(parley.RequestUser, text("The cursor is in main.go."), text("read these"), text("Links:\nhttps://a.example\nhttps://b.example")),
		}},
		{"summaries and imported system messages are told as the user's", []parley.Message{
			{Role: parley.RoleSummary, Content: content(parley.TextContent{Text: "They met."})},
			{Role: parley.RoleSystem, Content: content(parley.TextContent{Text: "Be kind."})},
		}, []parley.RequestMessage{
			said(parley.RequestUser, text("Summary of the conversation so far:\n\nThey met.")),
			said(parley.RequestUser, text("[Imported system message]\n\nBe kind.")),
		}},
		{"a refusal is what the assistant said, an empty answer is nothing", []parley.Message{
			assistant(turn, 1, parley.AssistantContent{Refusal: "I would rather not."}), user(turn, "?"), assistant(turn, 2, parley.AssistantContent{}),
		}, []parley.RequestMessage{
			said(parley.RequestAssistant, text("I would rather not.")), said(parley.RequestUser, text("?")),
		}},
		{"unreadable content is shown as it is", []parley.Message{
			{Role: parley.RoleUser, Content: json.RawMessage(`{"text":`)},
		}, []parley.RequestMessage{said(parley.RequestUser, text(`{"text":`))}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for i := range test.rows {
				if test.rows[i].Status == "" {
					test.rows[i].Status = parley.MessageCompleted
				}
			}
			request, _, err := prompt.Build(prompt.Settings{Model: modelA}, prompt.Selection{Messages: test.rows}, nil, prompt.Tools{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, request.Messages, cmpopts.IgnoreFields(parley.RequestPart{}, "Sequence")); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// However a text is spelled in JSON, the model reads the same.
func TestTextsSurviveTheirSpelling(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"text":"plain"}`: "plain", `{"text":""}`: "", `{"text":"a\"}\n\u00e9"}`: "a\"}\né", `{ "text" : "x" }`: "x",
		`{"text":"a","text":"b"}`: "b", `{"text":"日本"}`: "日本", "{\"text\":\"\xff\"}": "\uFFFD", `{"text":"a","think":true}`: "a",
		"{\"text\":\"a\nb\"}": "{\"text\":\"a\nb\"}", // not JSON: shown as it is
	} {
		for _, role := range []parley.Role{parley.RoleUser, parley.RoleAssistant} {
			row := parley.Message{Role: role, Status: parley.MessageCompleted, Content: json.RawMessage(raw)}
			request, _, err := prompt.Build(prompt.Settings{Model: modelA}, prompt.Selection{Messages: []parley.Message{row}}, nil, prompt.Tools{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(request.Messages) > 0 {
				got = request.Messages[0].Parts[0].Text
			}
			if got != want {
				t.Errorf("%s of %s reads %q, want %q", role, raw, got, want)
			}
		}
	}
}

// The tools of a request do not depend on the order or the spelling in which
// they were given, and survive their stored form.
func TestToolsHaveOneForm(t *testing.T) {
	t.Parallel()
	list := tools()
	one, _, err := prompt.Build(prompt.Settings{Model: modelA}, prompt.Selection{}, nil, mustTools(t, list), nil)
	if err != nil {
		t.Fatal(err)
	}
	list[0], list[1] = list[1], list[0]
	stored := mustTools(t, list).Text()
	want := `[{"description":"Tells the time.","name":"current_time","parameters":{"properties":{},"type":"object"}},` +
		`{"description":"Searches.","name":"search","parameters":{"properties":{"q":{"type":"integer"}},"type":"object"}}]`
	if string(stored) != want {
		t.Errorf("stored tools are\n%s, want\n%s", stored, want)
	}
	read, err := prompt.DecodeTools(stored)
	if err != nil {
		t.Fatal(err)
	}
	two, err := prompt.Rebuild(parley.Call{Model: modelA}, "", read, nil, noFiles)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one, two); diff != "" {
		t.Errorf("(-built +rebuilt):\n%s", diff)
	}
	if none, err := prompt.NewTools(nil); err != nil || none.Text() != nil || !none.Hash().IsZero() {
		t.Errorf("no tools are stored as %s (%v)", none.Text(), err)
	}
	list[0].Parameters = json.RawMessage(`{`)
	if _, err := prompt.NewTools(list); parley.ErrorCode(err) != parley.CodeInvalid {
		t.Errorf("parameters that are no JSON gave %v", err)
	}
}

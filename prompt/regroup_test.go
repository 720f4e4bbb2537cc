package prompt_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
)

func text(s string) model.Part {
	return model.Part{Kind: model.PartText, Text: s}
}

func said(role model.Role, parts ...model.Part) model.Message {
	return model.Message{Role: role, Parts: parts}
}

func callPart(id, arguments string) model.Part {
	return model.Part{Kind: model.PartToolCall, CallID: id, Name: "search", Arguments: []byte(arguments)}
}

func resultPart(id, text string) model.Part {
	return model.Part{Kind: model.PartToolResult, CallID: id, Name: "search", Text: text}
}

func errorPart(id, text string) model.Part {
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
		want []model.Message
	}{
		{"rows of a step are one message, results follow in the order of the calls", []parley.Message{
			user(turn, "find"),
			assistant(turn, 1, parley.AssistantContent{Text: "looking"}),
			call(turn, 1, "a", `{"q":1}`), call(turn, 1, "b", `{"q":2}`),
			assistant(turn, 1, parley.AssistantContent{Text: "and waiting"}),
			result(turn, 1, "b", `{"n":2}`), result(turn, 1, "a", `"one"`),
			assistant(turn, 2, parley.AssistantContent{Text: "done"}),
		}, []model.Message{
			said(model.RoleUser, text("find")),
			said(model.RoleAssistant, text("looking"), callPart("a", `{"q":1}`), callPart("b", `{"q":2}`),
				text("and waiting")),
			said(model.RoleTool, resultPart("a", "one"), resultPart("b", `{"n":2}`)),
			said(model.RoleAssistant, text("done")),
		}},
		{"an open call gets a result that says so", []parley.Message{
			call(turn, 1, "a", `{}`), user(next, "and?"),
		}, []model.Message{
			said(model.RoleAssistant, callPart("a", `{}`)),
			said(model.RoleTool, errorPart("a", prompt.NoResult)),
			said(model.RoleUser, text("and?")),
		}},
		{"orphan and second results are left out", []parley.Message{
			result(turn, 1, "a", `1`), call(turn, 2, "a", `{}`), result(turn, 2, "a", `2`), result(turn, 2, "a", `3`),
		}, []model.Message{
			said(model.RoleAssistant, callPart("a", `{}`)), said(model.RoleTool, resultPart("a", "2")),
		}},
		{"an id used in two turns answers the call before it", []parley.Message{
			call(turn, 1, "a", `{}`), result(turn, 1, "a", `1`), call(next, 1, "a", `{}`), result(next, 1, "a", `2`),
		}, []model.Message{
			said(model.RoleAssistant, callPart("a", `{}`)), said(model.RoleTool, resultPart("a", "1")),
			said(model.RoleAssistant, callPart("a", `{}`)), said(model.RoleTool, resultPart("a", "2")),
		}},
		{"failed results say the error", []parley.Message{
			call(turn, 1, "a", `{}`),
			with(result(turn, 1, "a", `null`), func(m *parley.Message) {
				m.Content = content(parley.ToolResultContent{Error: &broken, Result: json.RawMessage(`{"at":3}`)})
			}),
		}, []model.Message{
			said(model.RoleAssistant, callPart("a", `{}`)),
			said(model.RoleTool, errorPart("a", "the tool broke\n{\"at\":3}")),
		}},
		{"malformed arguments become an empty object", []parley.Message{
			with(call(turn, 1, "a", `{}`), func(m *parley.Message) {
				m.Content = content(parley.ToolCallContent{ID: "a", Name: "search", Arguments: json.RawMessage("null"),
					ArgumentsText: `{"q":`})
			}), result(turn, 1, "a", `1`),
		}, []model.Message{
			said(model.RoleAssistant, callPart("a", `{}`)), said(model.RoleTool, resultPart("a", "1")),
		}},
		{"a cancelled answer is kept with a note, its unfinished call is not", []parley.Message{
			with(assistant(turn, 1, parley.AssistantContent{Text: "half an ans"}), func(m *parley.Message) {
				m.Status = parley.MessageCancelled
			}),
			with(call(turn, 1, "a", `{}`), func(m *parley.Message) { m.Status = parley.MessageCancelled }),
			result(turn, 1, "a", `1`),
			user(next, "go on"),
		}, []model.Message{
			said(model.RoleAssistant, text("half an ans"), text(prompt.Interrupted)),
			said(model.RoleUser, text("go on")),
		}},
		{"reasoning and provider data stay with their model", []parley.Message{
			with(assistant(turn, 1, parley.AssistantContent{Reasoning: "hm", Text: "a"}), func(m *parley.Message) {
				m.ProviderData = []byte("signed")
			}),
			with(assistant(turn, 2, parley.AssistantContent{Reasoning: "hm", Text: "b"}), func(m *parley.Message) {
				m.ProviderData, m.Model = []byte("foreign"), modelB
			}),
			assistant(turn, 3, parley.AssistantContent{Reasoning: "unsigned"}),
			with(assistant(turn, 4, parley.AssistantContent{Reasoning: "unsigned"}), func(m *parley.Message) {
				m.Model = modelB
			}),
			with(call(turn, 5, "a", `{}`), func(m *parley.Message) {
				m.ProviderData = []byte("exact")
			}), result(turn, 5, "a", "1"),
			with(call(turn, 6, "b", `{}`), func(m *parley.Message) {
				m.ProviderData, m.Model = []byte("foreign"), modelB
			}), result(turn, 6, "b", "1"),
		}, []model.Message{
			said(model.RoleAssistant, model.Part{Kind: model.PartReasoning, Text: "hm",
				ProviderData: []byte("signed")}, text("a")),
			said(model.RoleAssistant, text("b")),
			said(model.RoleAssistant, model.Part{Kind: model.PartReasoning, Text: "unsigned"}),
			said(model.RoleAssistant, model.Part{Kind: model.PartToolCall, CallID: "a", Name: "search",
				Arguments: []byte("{}"), ProviderData: []byte("exact")}),
			said(model.RoleTool, resultPart("a", "1")),
			said(model.RoleAssistant, callPart("b", "{}")),
			said(model.RoleTool, resultPart("b", "1")),
		}},
		{"note, text and links", []parley.Message{
			with(user(turn, "read these"), func(m *parley.Message) {
				m.ContextNote = "The cursor is in main.go."
				m.Content = content(parley.UserContent{Text: "read these",
					Links: []string{"https://a.example", "https://b.example"}})
			}),
		}, []model.Message{
			said(model.RoleUser, text("The cursor is in main.go."), text("read these"),
				text("Links:\nhttps://a.example\nhttps://b.example")),
		}},
		{"summaries and imported system messages are told as the user's", []parley.Message{
			{Role: parley.RoleSummary, Content: content(parley.TextContent{Text: "They met."})},
			{Role: parley.RoleSystem, Content: content(parley.TextContent{Text: "Be kind."})},
		}, []model.Message{
			said(model.RoleUser, text("Summary of the conversation so far:\n\nThey met.")),
			said(model.RoleUser, text("[Imported system message]\n\nBe kind.")),
		}},
		{"a refusal is what the assistant said, an empty answer is nothing", []parley.Message{
			assistant(turn, 1, parley.AssistantContent{Refusal: "I would rather not."}), user(turn, "?"),
			assistant(turn, 2, parley.AssistantContent{}),
		}, []model.Message{
			said(model.RoleAssistant, text("I would rather not.")), said(model.RoleUser, text("?")),
		}},
		{"unreadable content is shown as it is", []parley.Message{
			{Role: parley.RoleUser, Content: json.RawMessage(`{"text":`)},
		}, []model.Message{said(model.RoleUser, text(`{"text":`))}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for i := range test.rows {
				if test.rows[i].Status == "" {
					test.rows[i].Status = parley.MessageCompleted
				}
			}
			request, _, err := prompt.Build(
				prompt.Settings{Model: modelA},
				prompt.Selection{Messages: test.rows},
				nil,
				prompt.Tools{},
				nil,
			)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(
				test.want,
				request.Messages,
				cmpopts.IgnoreFields(model.Part{}, "Sequence"),
			); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// However a text is written in JSON, the model reads the same.
func TestTextsSurviveTheirSpelling(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"text":"plain"}`: "plain", `{"text":""}`: "", `{"text":"a\"}\n\u00e9"}`: "a\"}\né", `{ "text" : "x" }`: "x",
		`{"text":"a","text":"b"}`: "b", `{"text":"日本"}`: "日本", "{\"text\":\"\xff\"}": "\uFFFD",
		`{"text":"a","think":true}`: "a",
		"{\"text\":\"a\nb\"}":       "{\"text\":\"a\nb\"}", // not JSON: shown as it is
	} {
		for _, role := range []parley.Role{parley.RoleUser, parley.RoleAssistant} {
			row := parley.Message{Role: role, Status: parley.MessageCompleted, Content: json.RawMessage(raw)}
			request, _, err := prompt.Build(
				prompt.Settings{Model: modelA},
				prompt.Selection{Messages: []parley.Message{row}},
				nil,
				prompt.Tools{},
				nil,
			)
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

// The tools of a request do not depend on the order or the notation in which they were given, and survive storage.
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
		`{"description":"Searches.","name":"search","parameters":{"properties":{"q":{"type":"integer"}},` +
		`"type":"object"}}]`
	if string(stored) != want {
		t.Errorf("stored tools are\n%s, want\n%s", stored, want)
	}
	read, err := prompt.DecodeTools(stored)
	if err != nil {
		t.Fatal(err)
	}
	two, err := prompt.Rebuild(parley.Call{Model: modelA}, nil, "", read, nil, noFiles)
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
		t.Errorf("invalid JSON as parameters gave %v", err)
	}
}

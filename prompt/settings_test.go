package prompt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/prompt"
)

func TestValidateTemplate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		template, complaint string // "": fine
	}{
		{"", ""},
		{"Plain text with { and } and }}.", ""},
		{"You are {{agent.name}} in {{ session.title }}.", ""},
		{"Write {{{{session.title}} for a title.", ""},
		{"{{session.created_at}}", "{{session.created_at}}"},
		{"{{}}", "there is no placeholder"},
		{"{{{agent.name}}}", "there is no placeholder"},
		{"Hello {{agent.name", "never closed"},
		{"{{AGENT.NAME}}", "there is no placeholder"},
		{"It is {{time}}.", "context_note"},
		{"{{ user.name }}", "context_note"},
	} {
		err := prompt.ValidateTemplate(test.template)
		if test.complaint == "" {
			if err != nil {
				t.Errorf("%q: %v", test.template, err)
			}
			continue
		}
		var invalid *parley.Error
		if !errors.As(err, &invalid) || invalid.Code != parley.CodeInvalid || invalid.Field != "system_prompt" {
			t.Errorf("%q: got %v, want %s on system_prompt", test.template, err, parley.CodeInvalid)
		} else if !strings.Contains(invalid.Message, test.complaint) {
			t.Errorf("%q: %q does not say %q", test.template, invalid.Message, test.complaint)
		}
	}
}

func TestSystemPrompt(t *testing.T) {
	t.Parallel()
	agent := parley.Agent{Name: "Ada", Slug: "ada", Settings: parley.Settings{Model: modelA}}
	session := parley.Session{
		ID:      turnID(7),
		Title:   "Rockets {{agent.name}}",
		Type:    "chat",
		Feature: "engine",
		Task:    "7",
		Key:     "k",
	}
	project := &parley.Project{Name: "moon", Path: "/src/moon"}
	own := "Own: {{session.type}}"
	for _, test := range []struct {
		name, template, instructions, want string
		project                            *parley.Project
		session, message                   *string
	}{
		{name: "nothing"},
		{name: "every placeholder", project: project,
			template: "{{session.id}}|{{session.title}}|{{session.type}}|{{session.feature}}|{{session.task}}|" +
				"{{session.key}}|{{agent.name}}|{{agent.slug}}|{{project.name}}|{{project.path}}",
			want: session.ID.String() + "|Rockets {{agent.name}}|chat|engine|7|k|Ada|ada|moon|/src/moon"},
		{name: "without a project its fields are empty", template: "In {{project.name}}.", want: "In ."},
		{name: "literal braces", template: "{{{{agent.name}} is {{agent.name}}", want: "{{agent.name}} is Ada"},
		{name: "a stored unknown stays as it is", template: "{{session.weather}} {{agent.name}}",
			want: "{{session.weather}} Ada"},
		{name: "a stored open one too", template: "{{agent.name}} {{agent", want: "{{agent.name}} {{agent"},
		{name: "instructions follow", template: "A", instructions: "B {{agent.name}}", want: "A\n\nB {{agent.name}}"},
		{name: "instructions alone", instructions: "B", want: "B"},
		{name: "session over agent", template: "A", session: &own, want: "Own: chat"},
		{name: "message over session", template: "A", session: new("B"), message: &own, instructions: "C",
			want: "Own: chat\n\nC"},
		{name: "empty is an override", template: "A", session: new(""), want: ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			agent, session := agent, session
			agent.SystemPrompt, session.Instructions, session.SystemPrompt = &test.template, test.instructions,
				test.session
			settings, err := prompt.Resolve(
				agent,
				session,
				test.project,
				parley.Message{Settings: parley.Settings{SystemPrompt: test.message}},
				"",
			)
			if err != nil {
				t.Fatal(err)
			}
			if settings.System != test.want {
				t.Errorf("system prompt %q, want %q", settings.System, test.want)
			}
		})
	}
	for _, name := range prompt.Placeholders() {
		if err := prompt.ValidateTemplate("{{" + name + "}}"); err != nil {
			t.Errorf("listed placeholder %s: %v", name, err)
		}
	}
}

func TestResolveNearestWins(t *testing.T) {
	t.Parallel()
	agent := parley.Agent{Settings: parley.Settings{
		Model: modelA, Parameters: parley.Parameters{Temperature: new(0.1), TopP: new(0.1), MaxTokens: new(1)},
		Tools: &[]parley.ToolRef{{Name: "agent's"}}, Policy: &parley.Policy{Kind: parley.PolicySingle},
		Retry: &parley.RetryPolicy{Retries: new(1), Backoff: parley.BackoffLinear},
	}}
	session := parley.Session{
		Settings: parley.Settings{Model: modelB, Parameters: parley.Parameters{TopP: new(0.2), MaxTokens: new(2)},
			Tools:  &[]parley.ToolRef{{Name: "session's"}},
			Policy: &parley.Policy{Kind: parley.PolicyRecent, Limit: 2}, Retry: &parley.RetryPolicy{Retries: new(2)}},
	}
	trigger := user(turnID(1), "")
	trigger.Content = content(parley.UserContent{Text: "go", Think: true, Search: true})
	trigger.Settings = parley.Settings{
		Model:      "x/y",
		Parameters: parley.Parameters{MaxTokens: new(3)},
		Tools:      &[]parley.ToolRef{},
	}

	for _, test := range []struct {
		name    string
		agent   parley.Agent
		session parley.Session
		trigger parley.Message
		want    prompt.Settings
	}{
		{"fallback", parley.Agent{}, parley.Session{}, parley.Message{},
			prompt.Settings{Model: "fall/back", Policy: parley.Policy{Kind: parley.PolicyAuto}}},
		{"a feature's default policy", parley.Agent{}, parley.Session{Feature: "f"}, parley.Message{},
			prompt.Settings{Model: "fall/back", Policy: parley.Policy{Kind: parley.PolicyRecent, Limit: 10}}},
		{"agent", agent, parley.Session{}, parley.Message{}, prompt.Settings{
			Model: modelA, Parameters: agent.Parameters, Tools: *agent.Tools, Policy: *agent.Policy,
			Retry: *agent.Retry}},
		{"session", agent, session, parley.Message{}, prompt.Settings{
			Model: modelB, Parameters: parley.Parameters{Temperature: new(0.1), TopP: new(0.2), MaxTokens: new(2)},
			Tools:  *session.Tools,
			Policy: *session.Policy, Retry: parley.RetryPolicy{Retries: new(2), Backoff: parley.BackoffLinear}}},
		{"message", agent, session, trigger, prompt.Settings{
			Model: "x/y", Parameters: parley.Parameters{Temperature: new(0.1), TopP: new(0.2), MaxTokens: new(3)},
			Tools:  []parley.ToolRef{},
			Policy: *session.Policy, Retry: parley.RetryPolicy{Retries: new(2), Backoff: parley.BackoffLinear},
			Think: true, Search: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := prompt.Resolve(test.agent, test.session, nil, test.trigger, "fall/back")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := prompt.Resolve(
		parley.Agent{Settings: parley.Settings{Model: "no-slash"}},
		parley.Session{},
		nil,
		parley.Message{},
		"",
	); parley.ErrorCode(
		err,
	) != parley.CodeInvalid {
		t.Errorf("a model id without a provider gave %v", err)
	}
}

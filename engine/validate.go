package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/schema"
	"example.org/parley/prompt"
	"example.org/parley/setting"
	"example.org/parley/store"
)

const (
	// maxToolNameBytes is the longest tool name that every provider accepts.
	maxToolNameBytes = 64
	// maxNamesBytes bounds the list of names in a refusal.
	maxNamesBytes = 2048
)

func checkIdempotency(idempotency store.Idempotency) error {
	return parley.CheckText("Idempotency-Key", idempotency.Key, parley.MaxKeyBytes)
}

// textBound is a text field with its bound.
type textBound struct {
	field, text string
	max         int
}

func checkTexts(bounds ...textBound) error {
	for _, b := range bounds {
		if err := parley.CheckText(b.field, b.text, b.max); err != nil {
			return err
		}
	}
	return nil
}

// textsBound is the values of a filter and the longest that one may be.
type textsBound struct {
	field string
	texts []string
	max   int
}

func checkAll(bounds ...textsBound) error {
	for _, b := range bounds {
		for _, text := range b.texts {
			if err := parley.CheckText(b.field, text, b.max); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkAgent fills in defaults and validates every field.
func (e *Engine) checkAgent(ctx context.Context, scope store.Scope, agent *parley.Agent) error {
	agent.Name = strings.TrimSpace(agent.Name)
	if agent.Name == "" {
		return parley.InvalidField("name", "is empty; an agent needs a name")
	}
	if err := checkTexts(
		textBound{"name", agent.Name, parley.MaxNameBytes},
		textBound{"description", agent.Description, parley.MaxTextBytes},
		textBound{"runtime", agent.Runtime, parley.MaxNameBytes},
	); err != nil {
		return err
	}
	if agent.Slug == "" {
		agent.Slug = slugFrom(agent.Name)
	}
	if err := parley.ValidateSlug(agent.Slug); err != nil {
		return err
	}
	if agent.Runtime == "" {
		agent.Runtime = parley.StandardRuntime
	}
	if known := e.runtimes(); !slices.Contains(known, agent.Runtime) {
		return parley.InvalidField(
			"runtime",
			"there is no runtime %q here; choose one of: %s",
			parley.Clip(agent.Runtime, 64),
			strings.Join(known, ", "),
		)
	}
	if agent.Status != parley.AgentActive && agent.Status != parley.AgentArchived {
		return parley.InvalidField("status", "%q is not one of active, archived", parley.Clip(string(agent.Status), 32))
	}
	setting.Complete(&agent.Settings)
	if err := e.checkSettings(setting.Agent, &agent.Settings); err != nil {
		return err
	}
	if err := e.findAgents(ctx, scope, parley.ValueOf(agent.Tools), agent.Slug, agent.ID.String()); err != nil {
		return err
	}
	tags, err := checkTags(agent.Tags)
	if err != nil {
		return err
	}
	agent.Tags = tags
	return nil // the store checks the lead, in the transaction that sets it
}

func (e *Engine) runtimes() []string {
	if e.runner == nil {
		return append([]string{parley.StandardRuntime}, e.others...)
	}
	return e.runner.Runtimes()
}

// checkModel refuses a model whose provider is not configured; "" leaves the choice to the wider scope.
func (e *Engine) checkModel(id parley.ModelID) error {
	if id == "" {
		return nil
	}
	_, _, err := e.models.Resolve(id)
	return err
}

// checkSettings validates the settings of a scope, by their descriptions and by what this server has. Whether the
// workspace has the agents that tools name is for findAgents.
func (e *Engine) checkSettings(scope setting.Scope, s *parley.Settings) error {
	if err := setting.Check(scope, s); err != nil {
		return err
	}
	if err := e.checkModel(s.Model); err != nil {
		return err
	}
	if s.SystemPrompt != nil {
		if err := prompt.ValidateTemplate(*s.SystemPrompt); err != nil {
			return err
		}
	}
	if err := checkOutput(s.Output); err != nil {
		return err
	}
	return e.checkTools(parley.ValueOf(s.Tools))
}

// checkOutput requires a schema that answers can be checked against, and stores it in its canonical form.
func checkOutput(output *parley.Output) error {
	if !output.Wanted() {
		return nil
	}
	if _, err := schema.Read(*output.Schema); err != nil {
		return parley.InvalidField(
			"output.schema",
			"this JSON Schema cannot be used: %s",
			parley.Clip(err.Error(), 300),
		)
	}
	canonical, err := parley.CanonicalJSON(*output.Schema)
	if err != nil {
		return parley.InvalidField("output.schema", "is not valid JSON")
	}
	output.Schema = &canonical
	return nil
}

// checkTools requires every name to be a tool of the server or defined inline.
func (e *Engine) checkTools(refs []parley.ToolRef) error {
	if len(refs) > parley.MaxTools {
		return parley.InvalidField("tools", "at most %d tools", parley.MaxTools)
	}
	seen := make(map[string]bool, len(refs))
	for _, ref := range refs {
		if seen[ref.Name] {
			return parley.InvalidField("tools", "%q is listed twice", parley.Clip(ref.Name, 64))
		}
		seen[ref.Name] = true
		if ref.Agent != nil {
			if err := checkAgentTool(*ref.Agent); err != nil {
				return err
			}
			continue
		}
		if ref.Definition == nil {
			if err := e.checkServerTool(ref.Name); err != nil {
				return err
			}
			continue
		}
		if err := checkDefinition(*ref.Definition); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) checkServerTool(name string) error {
	if e.tools == nil {
		return parley.InvalidField("tools", "this server has no tools; define %q inline", parley.Clip(name, 64))
	}
	if _, ok := e.tools.Tool(name); ok || e.tools.Expects(strings.TrimSuffix(name, "*")) {
		return nil
	}
	ref := parley.ToolRef{Name: name}
	_, pattern := ref.Pattern()
	var names []string
	for _, tool := range e.tools.Tools() {
		names = append(names, tool.Definition().Name)
		if pattern && ref.Offers(names[len(names)-1]) {
			return nil
		}
	}
	for _, fault := range e.tools.Faults() {
		if fault.Name == name {
			return parley.InvalidField("tools", "%q cannot be used: %s", parley.Clip(name, 64), fault.Reason)
		}
	}
	return parley.InvalidField(
		"tools",
		"the server has no tool %q; it has: %s; or define it inline",
		parley.Clip(name, 64),
		parley.Clip(strings.Join(names, ", "), maxNamesBytes),
	)
}

// checkDefinition requires a tool that every provider accepts: a plain name and the JSON Schema of an object.
func checkDefinition(definition parley.ToolDefinition) error {
	if !isToolName(definition.Name) {
		return parley.InvalidField(
			"tools.name",
			"%q is not a valid tool name: use 1 to %d letters, digits, _ and -",
			parley.Clip(definition.Name, 64),
			maxToolNameBytes,
		)
	}
	if err := parley.CheckText("tools.description", definition.Description, parley.MaxTextBytes); err != nil {
		return err
	}
	raw := bytes.TrimSpace(definition.Parameters)
	if len(raw) == 0 || raw[0] != '{' {
		return parley.InvalidField(
			"tools.parameters",
			"must be a JSON Schema object, such as {\"type\":\"object\",\"properties\":{}}",
		)
	}
	if err := parley.CheckJSON(raw); err != nil {
		return inside("tools.parameters", err)
	}
	var of struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(raw, &of) != nil || of.Type != "object" {
		return parley.InvalidField(
			"tools.parameters",
			"%s: the schema's type must be object, because arguments are an object",
			parley.Clip(definition.Name, 64),
		)
	}
	if _, err := schema.Read(raw); err != nil {
		return parley.InvalidField(
			"tools.parameters",
			"%s: this JSON Schema cannot be used: %s",
			parley.Clip(definition.Name, 64),
			parley.Clip(err.Error(), 300),
		)
	}
	return nil
}

func isToolName(name string) bool {
	if name == "" || len(name) > maxToolNameBytes {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// checkTags trims, drops repeats and checks bounds.
func checkTags(tags []string) ([]string, error) {
	if len(tags) > parley.MaxTags {
		return nil, parley.InvalidField("tags", "at most %d tags", parley.MaxTags)
	}
	kept := make([]string, 0, len(tags))
	for _, tag := range tags {
		if tag = strings.TrimSpace(tag); tag == "" {
			return nil, parley.InvalidField("tags", "a tag is empty")
		}
		if err := parley.CheckText("tags", tag, parley.MaxNameBytes); err != nil {
			return nil, err
		}
		if !slices.Contains(kept, tag) {
			kept = append(kept, tag)
		}
	}
	return kept, nil
}

// checkMetadata requires an object within bounds; absent and null become {}.
func checkMetadata(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" || string(raw) == "{}" {
		return json.RawMessage(`{}`), nil
	}
	if len(raw) > parley.MaxMetadataBytes {
		return nil, parley.InvalidField("metadata", "is longer than %d bytes", parley.MaxMetadataBytes)
	}
	if raw[0] != '{' {
		return nil, parley.InvalidField("metadata", "must be a JSON object")
	}
	if err := parley.CheckJSON(raw); err != nil {
		return nil, inside("metadata", err)
	}
	canonical, err := parley.CanonicalJSON(raw)
	if err != nil {
		return nil, inside("metadata", err)
	}
	return canonical, nil
}

// inside puts a field's error under its parent's name.
func inside(parent string, err error) error {
	var e *parley.Error
	if !errors.As(err, &e) || e.Code != parley.CodeInvalid {
		return err
	}
	if e.Field == "" {
		return parley.InvalidField(parent, "%s", e.Message)
	}
	return &parley.Error{Code: e.Code, Field: parent + "." + e.Field, Message: parent + "." + e.Message}
}

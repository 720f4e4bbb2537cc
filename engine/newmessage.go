package engine

import (
	"cmp"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// newMessage validates a message from outside and returns the store's form of it.
func (e *Engine) newMessage(principal parley.Principal, input MessageInput) (store.NewMessage, error) {
	if input.Role == "" {
		input.Role = parley.RoleUser
	}
	switch {
	case input.Status != "":
		return openOutside(principal, input)
	case input.Timeout != 0:
		return store.NewMessage{}, parley.InvalidField("timeout", "belongs to a message opened as streaming")
	}
	switch input.Role {
	case parley.RoleUser:
		if err := e.checkUserInput(input); err != nil {
			return store.NewMessage{}, err
		}
	case parley.RoleAssistant, parley.RoleToolCall, parley.RoleToolResult:
		if err := checkRecordedInput(input); err != nil {
			return store.NewMessage{}, err
		}
	case parley.RoleSystem:
		return store.NewMessage{}, parley.InvalidField(
			"role",
			"system messages are not posted: set system_prompt on the agent, the session or this message instead",
		)
	case parley.RoleSummary:
		return store.NewMessage{}, parley.InvalidField("role", "summaries are not posted: they are written by Parley")
	default:
		return store.NewMessage{}, parley.InvalidField(
			"role",
			"%q is not one of user, assistant, tool_call, tool_result",
			parley.Clip(string(input.Role), 32),
		)
	}
	if err := checkTexts(
		textBound{"tool_call_id", input.ToolCallID, parley.MaxNameBytes},
		textBound{"agent_type", input.AgentType, parley.MaxNameBytes},
		textBound{"context_note", input.ContextNote, parley.MaxTextBytes},
	); err != nil {
		return store.NewMessage{}, err
	}
	if input.Iteration < 0 {
		return store.NewMessage{}, parley.InvalidField("iteration", "must not be negative")
	}
	content, title, err := checkContent(input.Role, input.Content)
	if err != nil {
		return store.NewMessage{}, err
	}
	metadata, err := checkMetadata(input.Metadata)
	if err != nil {
		return store.NewMessage{}, err
	}
	message := store.NewMessage{
		ID: parley.NewID(), Role: input.Role, Author: principal.Author(), Content: content,
		ContextNote: input.ContextNote, ToolCallID: input.ToolCallID, Internal: input.Internal,
		Metadata: metadata, AgentType: input.AgentType, Iteration: input.Iteration,
		Settings: input.Settings, During: input.During, Follows: input.Follows, OfAgent: input.OfAgent,
		Urgent:        principal.Author().Kind == parley.AuthorPerson,
		TokenEstimate: prompt.EstimateContent(cmp.Or(input.Model, e.models.Default()), input.Role, content),
	}
	switch input.Role {
	case parley.RoleUser:
		if input.Respond == nil || *input.Respond {
			message.TurnID = parley.NewID()
		}
		if !input.Internal {
			message.Title = title
		}
	case parley.RoleAssistant:
		message.Model, message.Settings = input.Model, parley.Settings{}
	case parley.RoleToolCall:
		var call parley.ToolCallContent
		if err := json.Unmarshal(content, &call); err != nil {
			return store.NewMessage{}, parley.WrapError(
				parley.CodeInternal,
				err,
				"a tool_call's content cannot be read back",
			)
		}
		message.ToolCallID, message.ToolName = call.ID, call.Name
	}
	return message, nil
}

// checkUserInput checks the fields that only user messages have.
func (e *Engine) checkUserInput(input MessageInput) error {
	switch {
	case input.ToolCallID != "":
		return parley.InvalidField("tool_call_id", "belongs to tool_result messages")
	case input.During != "" && !input.During.Valid():
		return parley.InvalidField(
			"during",
			"%q is not one of queue, steer, interrupt, reject",
			parley.Clip(string(input.During), 32),
		)
	case input.Internal && (input.Respond == nil || *input.Respond):
		return parley.InvalidField(
			"internal",
			"an internal message is in no context, so no turn can answer it; post it with respond false",
		)
	}
	return e.checkSettings(setting.Message, &input.Settings)
}

// checkRecordedInput checks messages of roles that are only recorded.
func checkRecordedInput(input MessageInput) error {
	role := input.Role
	others := input.Settings
	if role == parley.RoleAssistant { // the model that wrote it
		if err := checkOutsideModel(input.Model); err != nil {
			return err
		}
		others.Model = ""
	}
	switch {
	case input.Respond != nil && *input.Respond:
		return parley.InvalidField("respond", "only a user message starts a turn, not a %s", role)
	case input.During != "":
		return parley.InvalidField("during", "belongs to user messages, not to a %s", role)
	case !setting.IsZero(&others):
		return parley.InvalidField(
			"model",
			"model, parameters, system_prompt and tools are set by user messages, not by those of role %s",
			role,
		)
	case input.ContextNote != "":
		return parley.InvalidField("context_note", "belongs to user messages, not to a %s", role)
	case role == parley.RoleToolResult && input.ToolCallID == "":
		return parley.InvalidField("tool_call_id", "is missing; name the call that this result answers")
	case role != parley.RoleToolResult && input.ToolCallID != "":
		return parley.InvalidField("tool_call_id", "belongs to tool_result messages")
	}
	return nil
}

// checkContent returns the canonical content and, for a user message, the title that an untitled session gets from it.
func checkContent(role parley.Role, raw json.RawMessage) (content json.RawMessage, title string, err error) {
	if role == parley.RoleUser {
		if text, canonical, ok := plainText(raw); ok {
			return canonical, parley.TitleFrom(text), nil
		}
	}
	if content, err = parley.ValidateContent(role, raw); err != nil || role != parley.RoleUser {
		return content, "", err
	}
	var user parley.UserContent
	if err := json.Unmarshal(content, &user); err != nil {
		return nil, "", parley.WrapError(parley.CodeInternal, err, "a user message's content cannot be read back")
	}
	return content, parley.TitleFrom(user.Text), nil
}

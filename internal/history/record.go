package history

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
)

// Record adds a message to a session without a turn.
func (b *Book) Record(ctx context.Context, r *Request, session parley.ID, at int, follows int64) error {
	m := &r.Said[at]
	var inputs []engine.MessageInput
	switch m.Role {
	case User:
		input, err := b.UserInput(ctx, r, at)
		if err != nil {
			return err
		}
		input.Settings, input.Respond = parley.Settings{}, new(bool)
		inputs = append(inputs, input)
	case Tool:
		input, err := b.ResultInput(ctx, r, m)
		if err != nil {
			return err
		}
		inputs = append(inputs, input)
	case Assistant:
		if m.Text != "" || m.Reasoning != "" || len(m.Calls) == 0 {
			content, err := parley.EncodeContent(parley.AssistantContent{
				Reasoning: m.Reasoning, Text: m.Text, Refusal: m.Refusal,
			})
			if err != nil {
				return err
			}
			inputs = append(inputs, engine.MessageInput{Role: parley.RoleAssistant, Content: content})
		}
		for i := range m.Calls {
			content, err := parley.EncodeContent(m.Calls[i])
			if err != nil {
				return err
			}
			inputs = append(inputs, engine.MessageInput{Role: parley.RoleToolCall, Content: content})
		}
	}
	for _, input := range inputs {
		input.Follows, follows = follows, 0
		posted, err := b.Engine.PostMessage(ctx, r.X.Principal, session, input, b.Once(r))
		if err != nil {
			return Within(m.Member, err)
		}
		if r.Keeps {
			r.Kept = append(r.Kept, posted.Message)
		}
		if len(r.Names) > 0 && r.Names[len(r.Names)-1].Name == r.after[at].String() {
			r.Names[len(r.Names)-1].TargetID = posted.Message.ID
		} else {
			b.name(r, at, posted.Message.ID)
		}
	}
	return nil
}

// trigger is a user's message with the request's settings.
func (r *Request) trigger(content parley.UserContent) (engine.MessageInput, error) {
	encoded, err := parley.EncodeContent(content)
	if err != nil {
		return engine.MessageInput{}, err
	}
	input := engine.MessageInput{Role: parley.RoleUser, Content: encoded, Settings: r.Settings}
	if len(r.Metadata) > 0 {
		input.Metadata, err = parley.EncodeJSON(r.Metadata)
	}
	return input, err
}

// LastInput is the user's message that begins the turn.
func (b *Book) LastInput(ctx context.Context, r *Request) (engine.MessageInput, error) {
	input, err := b.UserInput(ctx, r, len(r.Said)-1)
	if r.Note != nil {
		input.Metadata = r.Note
	}
	return input, err
}

// UserInput is a user's message; its images and files are uploaded first.
func (b *Book) UserInput(ctx context.Context, r *Request, at int) (engine.MessageInput, error) {
	m := &r.Said[at]
	content := parley.UserContent{Search: r.Search, Think: r.Think}
	if len(m.Parts) == 0 {
		content.Text = m.Text
		return r.trigger(content)
	}
	var err error
	if content.Parts, err = b.parts(ctx, r, m); err != nil {
		return engine.MessageInput{}, err
	}
	return r.trigger(content)
}

// parts are a message's parts as the record keeps them.
func (b *Book) parts(ctx context.Context, r *Request, m *Message) ([]parley.Part, error) {
	parts := make([]parley.Part, len(m.Parts))
	for i := range m.Parts {
		var err error
		if parts[i], err = b.partOf(ctx, r.X.Principal, &m.Parts[i]); err != nil {
			return nil, Within(m.Member, err)
		}
	}
	return parts, nil
}

// partOf is a part as the record keeps it: bytes become files.
func (b *Book) partOf(ctx context.Context, principal parley.Principal, p *Part) (parley.Part, error) {
	switch {
	case p.Link != "":
		link, err := url.Parse(p.Link)
		if err != nil || link.Scheme != "https" && link.Scheme != "http" {
			return parley.Part{}, parley.InvalidField(p.Member, "must be a data URL, or one of http or https")
		}
		return parley.Part{Type: parley.PartLink, URL: p.Link}, nil
	case p.Data == "":
		return parley.Part{Type: parley.PartText, Text: p.Text}, nil
	}
	data := p.Data
	if meta, encoded, ok := strings.Cut(data, ","); ok && strings.HasPrefix(meta, "data:") {
		if !strings.HasSuffix(meta, ";base64") {
			return parley.Part{}, parley.InvalidField(p.Member, "must be a data URL in base64")
		}
		data = encoded
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return parley.Part{}, parley.InvalidField(p.Member, "is not base64")
	}
	file, _, err := b.Engine.UploadFile(ctx, principal, p.Name, bytes.NewReader(raw))
	if err != nil {
		return parley.Part{}, err
	}
	return parley.FilePart(file), nil
}

// ResultInput is the result of a client's tool.
func (b *Book) ResultInput(ctx context.Context, r *Request, m *Message) (engine.MessageInput, error) {
	input := engine.MessageInput{Role: parley.RoleToolResult, ToolCallID: m.Answers}
	result := parley.ToolResultContent{Success: !m.Failed}
	var err error
	switch {
	case m.Failed:
		result.Error = &m.Text
	case len(m.Parts) > 0:
		result.Parts, err = b.parts(ctx, r, m)
	default:
		result.Result, err = json.Marshal(m.Text)
	}
	if err == nil {
		input.Content, err = parley.EncodeContent(result)
	}
	return input, err
}

// Within prefixes the field of an error with the member that contains it.
func Within(member string, err error) error {
	var known *parley.Error
	if errors.As(err, &known) && known.Field != "" {
		inside := *known
		inside.Field = member + "." + known.Field
		inside.Message = inside.Field + ": " + strings.TrimPrefix(known.Message, known.Field+": ")
		return &inside
	}
	return err
}

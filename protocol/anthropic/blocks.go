package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/history"
)

// message is one of the history. Members that other servers and clients add are ignored.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// block is a piece of a content.
type block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	UseID    string          `json:"tool_use_id"`
	Content  json.RawMessage `json:"content"`
	IsError  bool            `json:"is_error"`
	Source   json.RawMessage `json:"source"` // of an image or a document; a search result has a text there
	Title    string          `json:"title"`
}

// source is where an image or a document comes from.
type source struct {
	Type      string          `json:"type"`
	MediaType string          `json:"media_type"`
	Data      string          `json:"data"`
	URL       string          `json:"url"`
	Content   json.RawMessage `json:"content"`
}

// blocksOf reads a content, a text or blocks, which are counted first: one takes far more than its text.
func blocksOf(raw json.RawMessage, most int) ([]block, error) {
	raw = bytes.TrimSpace(raw)
	if !given(raw) {
		return nil, parley.InvalidField("content", "is missing")
	}
	if raw[0] == '"' {
		blocks := []block{{Type: "text"}}
		return blocks, json.Unmarshal(raw, &blocks[0].Text)
	}
	var texts []json.RawMessage
	if json.Unmarshal(raw, &texts) != nil {
		return nil, parley.InvalidField("content", "must be a text or a list of blocks")
	}
	if len(texts) > most {
		return nil, parley.InvalidField("content", "at most %d blocks", most)
	}
	blocks := make([]block, len(texts))
	for i := range texts {
		if json.Unmarshal(texts[i], &blocks[i]) != nil {
			return nil, parley.InvalidField(fmt.Sprintf("content[%d]", i), "must be a block")
		}
	}
	return blocks, nil
}

// textOf reads a content that has nothing but text.
func textOf(raw json.RawMessage, member string) (string, error) {
	blocks, err := blocksOf(raw, maxBlocks)
	if err != nil {
		return "", parley.InvalidField(member, "must be a text or a list of at most %d blocks of text", maxBlocks)
	}
	texts := make([]string, len(blocks))
	for i := range blocks {
		if blocks[i].Type != "text" {
			return "", parley.InvalidField(fmt.Sprintf("%s[%d].type", member, i), "must be text")
		}
		texts[i] = blocks[i].Text
	}
	return strings.Join(texts, history.Gap), nil
}

// read appends what the message says, in the terms of histories: the results of a user's message stand alone there.
func (m *message) read(member string, said []history.Message) ([]history.Message, error) {
	blocks, err := blocksOf(m.Content, maxBlocks)
	if err != nil {
		return nil, err
	}
	switch m.Role {
	case "assistant":
		return append(said, answered(member, blocks)), nil
	case "user":
	default:
		return nil, parley.InvalidField("role", "is not one of user, assistant, system")
	}
	own := history.Message{Member: member, Role: history.User}
	if len(blocks) == 0 {
		return nil, parley.InvalidField("content", "is empty")
	}
	spoke := false
	for i := range blocks {
		b := &blocks[i]
		at := fmt.Sprintf("content[%d]", i)
		if b.Type != "tool_result" {
			spoke = true
			if err := b.add(&own, at); err != nil {
				return nil, err
			}
			continue
		}
		if spoke {
			return nil, parley.InvalidField(at, "stands behind other blocks: put results first")
		}
		result, err := b.result(member, at)
		if err != nil {
			return nil, err
		}
		said = append(said, result)
	}
	if !spoke {
		return said, nil
	}
	own.Plain()
	return append(said, own), nil
}

// answered is an assistant's message. What the record has, and no client writes, is left out.
func answered(member string, blocks []block) history.Message {
	m := history.Message{Member: member, Role: history.Assistant}
	var texts []string
	for i := range blocks {
		switch b := &blocks[i]; b.Type {
		case "text":
			texts = append(texts, b.Text)
		case "thinking":
			m.Reasoning += b.Thinking
		case "tool_use":
			m.Calls = append(m.Calls, history.Call(b.ID, b.Name, string(b.Input)))
		}
	}
	m.Text = strings.Join(texts, history.Gap)
	return m
}

// result is what a tool of the client answered.
func (b *block) result(member, at string) (history.Message, error) {
	m := history.Message{Member: member, Role: history.Tool, Answers: b.UseID, Failed: b.IsError}
	if b.UseID == "" {
		return m, parley.InvalidField(at+".tool_use_id", "is missing; name the call that this result answers")
	}
	if !given(b.Content) {
		return m, nil
	}
	inside, err := blocksOf(b.Content, parley.MaxParts)
	if err != nil {
		return m, history.Within(at, err)
	}
	for i := range inside {
		if err := inside[i].add(&m, fmt.Sprintf("%s.content[%d]", at, i)); err != nil {
			return m, err
		}
	}
	if b.IsError {
		m.Others = append(m.Others, "error")
	}
	m.Plain()
	return m, nil
}

// add adds a block to a user's message or a result.
func (b *block) add(m *history.Message, at string) error {
	if len(m.Parts) == parley.MaxParts { // their bytes become files before the message is checked
		return parley.InvalidField("content", "at most %d parts", parley.MaxParts)
	}
	p := history.Part{Member: at + ".source"}
	switch b.Type {
	case "text":
		p.Text = b.Text
	case "search_result":
		text, err := textOf(b.Content, at+".content")
		if err != nil {
			return err
		}
		p.Text = b.Title + history.Gap + text
	case "image", "document":
		var s source
		if json.Unmarshal(b.Source, &s) != nil {
			return parley.InvalidField(p.Member, "is missing")
		}
		if err := s.read(b, &p); err != nil {
			return err
		}
		m.Others = append(m.Others, b.Type, s.URL+s.Data)
	default:
		return parley.InvalidField(at+".type", "%q is not supported", parley.Clip(b.Type, 32))
	}
	m.Parts = append(m.Parts, p)
	return nil
}

// read puts a source into the terms of histories.
func (s *source) read(b *block, p *history.Part) error {
	p.Name = b.Type
	if b.Title != "" {
		p.Name = b.Title
	}
	switch s.Type {
	case "base64":
		if p.Data = s.Data; s.Data == "" {
			return parley.InvalidField(p.Member+".data", "is missing")
		}
	case "url":
		if p.Link = s.URL; s.URL == "" {
			return parley.InvalidField(p.Member+".url", "is missing")
		}
	case "text":
		p.Text = s.Data
	case "content":
		text, err := textOf(s.Content, p.Member+".content")
		if err != nil {
			return err
		}
		p.Text = text
	default:
		return parley.InvalidField(p.Member+".type",
			"%q is not supported: send the bytes as base64; this server has no files of that API",
			parley.Clip(s.Type, 32))
	}
	return nil
}

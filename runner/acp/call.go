package acp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/tool"
)

const (
	maxCalls     = 4096     // of one prompt
	maxCallID    = 256      // bytes
	maxTitle     = 512      // bytes
	maxInput     = 64 << 10 // bytes of what a call was given, as JSON
	maxResult    = 256 << 10
	maxDiffs     = 64
	planName     = "plan"
	otherSort    = "other"
	callIDOfPlan = "plan-"
)

// sorts are the kinds of calls that the protocol knows; any other is "other".
var sorts = []string{"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", otherSort}

// call is a tool call of the program, as far as it has told of it. It is guarded by its
// session's mutex; done and news are for everybody.
type call struct {
	id        string
	title     string
	sort      string
	input     json.RawMessage
	output    json.RawMessage
	content   json.RawMessage
	locations json.RawMessage
	status    string

	asks    json.RawMessage // the id of its open request for leave; nil without one
	allowed string          // the option that grants it
	refused string          // the option that refuses it, "" when there is none
	asked   bool            // it wanted leave when it was shown
	due     bool            // it is in the queue, or in the record
	taken   bool            // its result is being waited for
	ended   bool
	done    chan struct{} // closed when it has ended
	news    chan struct{} // of one: something about it is new
}

func newCall(id string) *call {
	return &call{id: id, sort: otherSort, done: make(chan struct{}), news: make(chan struct{}, 1)}
}

// update takes what is new of a call.
func (c *call) update(u *callUpdate, content json.RawMessage) {
	if u.Title != nil {
		c.title = parley.Clip(strings.ReplaceAll(*u.Title, "\x00", "\uFFFD"), maxTitle)
	}
	if u.Sort != nil && slices.Contains(sorts, *u.Sort) {
		c.sort = *u.Sort
	}
	if u.Status != nil {
		c.status = *u.Status
	}
	for _, part := range []struct {
		into *json.RawMessage
		from json.RawMessage
	}{{&c.input, u.Input}, {&c.output, u.Output}, {&c.locations, u.Locations}, {&c.content, content}} {
		if len(part.from) > 0 && string(part.from) != "null" {
			*part.into = part.from
		}
	}
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// end has whoever waits for the call go on.
func (c *call) end() {
	if !c.ended {
		c.ended = true
		close(c.done)
	}
}

// callArguments are a call's arguments in the record.
type callArguments struct {
	CallID    string          `json:"call_id"`
	Title     string          `json:"title,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Locations json.RawMessage `json:"locations,omitempty"`
}

// arguments are what the record keeps of what the call was given.
func (c *call) arguments() (string, error) {
	kept := callArguments{CallID: c.id, Title: c.title, Input: fitting(c.input), Locations: fitting(c.locations)}
	encoded, err := parley.EncodeJSON(kept)
	return string(encoded), err
}

// fitting is JSON that is short enough to be kept; else nothing.
func fitting(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxInput {
		return json.RawMessage(`"(left out: longer than Parley keeps)"`)
	}
	return raw
}

// callResult is what a call came to, in the record.
type callResult struct {
	Status string          `json:"status"`
	Text   string          `json:"text,omitempty"`
	Diffs  []callDiff      `json:"diffs,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Cut    bool            `json:"cut,omitempty"` // there was more than is kept
}

// callDiff is a change of a file.
type callDiff struct {
	Path    string  `json:"path"`
	OldText *string `json:"old_text"` // null: the file is new
	NewText string  `json:"new_text"`
}

// result is what the record keeps of what the call came to.
func (c *call) result() callResult {
	result := callResult{Status: c.status}
	left := maxResult
	keep := func(text string) string {
		if len(text) > left {
			result.Cut = true
		}
		text = parley.Clip(text, left)
		left -= len(text)
		return text
	}
	var contents []callContent
	if len(c.content) > 0 {
		_ = json.Unmarshal(c.content, &contents) // content of another form says nothing
	}
	var text []string
	for i := range contents {
		switch part := &contents[i]; {
		case part.Type == "diff" && len(result.Diffs) < maxDiffs:
			diff := callDiff{Path: keep(part.Path), NewText: keep(part.NewText)}
			if part.OldText != nil {
				old := keep(*part.OldText)
				diff.OldText = &old
			}
			result.Diffs = append(result.Diffs, diff)
		case part.Content != nil:
			text = append(text, keep(part.Content.said()))
		}
	}
	result.Text = strings.Join(text, "\n")
	if len(c.output) > 0 && len(c.output) <= left {
		result.Output = c.output
	} else if len(c.output) > 0 {
		result.Cut = true
	}
	return result
}

// waiting is the tool of a call: it waits for what the program does by itself.
type waiting struct {
	session *session
	call    *call
	asked   bool // the program wants leave for it
}

// Definition names the call's kind.
func (w waiting) Definition() parley.ToolDefinition {
	return parley.ToolDefinition{Name: w.session.toolName(w.call.sort)}
}

// Annotations says that what needs leave may destroy something.
func (w waiting) Annotations() parley.ToolAnnotations {
	return parley.ToolAnnotations{Destructive: w.asked, ReadOnly: !w.asked}
}

// Source names the program.
func (w waiting) Source() string { return w.session.runtime.Name() }

// Call grants leave for the call if it wants it, and waits for its end.
func (w waiting) Call(ctx context.Context, of tool.Call) (tool.Result, error) {
	return tool.JSON(w.await(ctx, of))
}

func (w waiting) await(ctx context.Context, of tool.Call) (json.RawMessage, error) {
	s, c := w.session, w.call
	if err := s.allow(c); err != nil {
		return nil, err
	}
	for {
		select {
		case <-c.done:
			return s.resultOf(c)
		case <-s.conn.gone:
			return nil, parley.Errorf(parley.CodeUnavailable, parley.EffectUnknown)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-c.news:
			if of.Progress != nil {
				of.Progress(parley.ToolProgress{Message: s.titleOf(c)})
			}
		}
	}
}

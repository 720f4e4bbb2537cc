package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"example.org/parley"
	"example.org/parley/tool"
)

const (
	maxCalls     = 4096     // of one prompt
	maxCallID    = 256      // bytes
	maxTitle     = 512      // bytes
	maxInput     = 64 << 10 // bytes of a call's input, as JSON
	maxResult    = 256 << 10
	maxDiffs     = 64
	maxContents  = 1024 // pieces of a call's output
	planName     = "plan"
	otherSort    = "other"
	callIDOfPlan = "plan-"
)

// knownSort reports whether the protocol defines a kind of call; any other kind becomes "other".
func knownSort(kind string) bool {
	switch kind {
	case "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", otherSort:
		return true
	}
	return false
}

// call is a tool call of the program, as far as the program has reported it. Its session's mutex guards it; done and
// news may be read without it.
type call struct {
	id        string
	title     string
	sort      string
	input     json.RawMessage
	locations json.RawMessage
	status    string
	came      callResult // its outcome, apart from status and output
	output    json.RawMessage
	cutOutput bool // some of the output is not kept

	asks    json.RawMessage // the id of its open permission request; nil without one
	allowed string          // the option that grants it
	refused string          // the option that refuses it; "" without one
	asked   bool            // it wanted permission when it was shown
	due     bool            // it is in the queue, or in the record
	taken   bool            // something waits for its result
	ended   bool
	done    chan struct{} // closed when it has ended
	news    chan struct{} // holds one: the call was updated
}

func newCall(id string) *call {
	return &call{id: id, sort: otherSort, done: make(chan struct{}), news: make(chan struct{}, 1)}
}

// update applies an update to a call and returns by how many bytes it grew, at most room.
func (c *call) update(u *callUpdate, content json.RawMessage, room int) (more int) {
	before := c.holds()
	room += before
	if u.Title != nil {
		c.title = parley.Clip(strings.ReplaceAll(*u.Title, "\x00", "\uFFFD"), maxTitle)
	}
	if u.Sort != nil && knownSort(*u.Sort) {
		c.sort = *u.Sort
	}
	if u.Status != nil {
		c.status = *u.Status
	}
	says := func(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
	free := func(without int) int { return room - (c.holds() - without) }
	if says(u.Input) {
		c.input = fitting(u.Input, min(maxInput, free(len(c.input))))
	}
	if says(u.Locations) {
		c.locations = fitting(u.Locations, min(maxInput, free(len(c.locations))))
	}
	if says(content) {
		c.came = cameTo(content, min(maxResult, free(c.came.size())))
	}
	if says(u.Output) {
		c.cutOutput = len(u.Output) > min(maxResult, free(len(c.output)))
		c.output = nil
		if !c.cutOutput {
			c.output = u.Output
		}
	}
	select {
	case c.news <- struct{}{}:
	default:
	}
	return c.holds() - before
}

// holds returns how many bytes of a call are kept.
func (c *call) holds() int { return len(c.input) + len(c.locations) + len(c.output) + c.came.size() }

// release drops what is in the record by now, and returns how many bytes that frees.
func (c *call) release() (freed int) {
	freed = c.holds()
	c.input, c.locations, c.output, c.came = nil, nil, nil, callResult{}
	return freed
}

// end unblocks the goroutine that waits for the call.
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

// arguments returns the part of the call's input that the record keeps.
func (c *call) arguments() (string, error) {
	kept := callArguments{CallID: c.id, Title: c.title, Input: c.input, Locations: c.locations}
	encoded, err := parley.EncodeJSON(kept)
	return string(encoded), err
}

// fitting returns JSON if it is short enough to be kept, else a note.
func fitting(raw json.RawMessage, most int) json.RawMessage {
	if len(raw) > most {
		return json.RawMessage(leftOut)
	}
	return raw
}

const leftOut = `"(left out: longer than Parley keeps)"`

// listed returns the first items of a JSON list, up to one that has a different form.
func listed[Item any](raw json.RawMessage, most int) (items []Item) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if _, err := decoder.Token(); err != nil {
		return nil
	}
	for len(items) < most && decoder.More() {
		var item Item
		if decoder.Decode(&item) != nil {
			break
		}
		items = append(items, item)
	}
	return items
}

// callResult is the outcome of a call, as the record keeps it.
type callResult struct {
	Status string          `json:"status"`
	Text   string          `json:"text,omitempty"`
	Diffs  []callDiff      `json:"diffs,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Cut    bool            `json:"cut,omitempty"` // not all of it is kept
}

// callDiff is a change of a file.
type callDiff struct {
	Path    string  `json:"path"`
	OldText *string `json:"old_text"` // null: the file is new
	NewText string  `json:"new_text"`
}

// size returns the length of its texts in bytes.
func (r *callResult) size() int {
	size := len(r.Text)
	for i := range r.Diffs {
		size += len(r.Diffs[i].Path) + len(r.Diffs[i].NewText)
		if old := r.Diffs[i].OldText; old != nil {
			size += len(*old)
		}
	}
	return size
}

// result returns the part of the call's outcome that the record keeps.
func (c *call) result() callResult {
	result := c.came
	result.Status = c.status
	if len(c.output) <= maxResult-result.size() {
		result.Output = c.output
	} else {
		result.Cut = true
	}
	result.Cut = result.Cut || c.cutOutput
	return result
}

// cameTo returns the part of a call's content that is kept: at most so many bytes of text. It ignores content of an
// unknown form.
func cameTo(content json.RawMessage, left int) (result callResult) {
	keep := func(text string) string {
		if len(text) > left {
			result.Cut = true
		}
		if left <= 0 {
			return ""
		}
		text = strings.Clone(parley.Clip(text, left)) // does not keep the whole text in memory
		left -= len(text)
		return text
	}
	contents := listed[callContent](content, maxContents)
	result.Cut = len(contents) == maxContents
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
			text = append(text, keep(part.Content.Said()))
		}
	}
	result.Text = strings.Join(text, "\n")
	return result
}

// waiting is the tool behind a call of the program, which runs the call itself: Call only waits for its end.
type waiting struct {
	session *session
	call    *call
	asked   bool // the program wants permission for it
}

// Definition returns a tool that is named after the call's kind.
func (w waiting) Definition() parley.ToolDefinition {
	return parley.ToolDefinition{Name: w.session.toolName(w.call.sort)}
}

// Annotations reports calls that need permission as possibly destructive.
func (w waiting) Annotations() parley.ToolAnnotations {
	return parley.ToolAnnotations{Destructive: w.asked, ReadOnly: !w.asked}
}

// Source returns the program's name.
func (w waiting) Source() string { return w.session.runtime.Name() }

// Call grants the call permission if it wants it, and waits for its end.
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
		case <-s.conn.Gone:
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

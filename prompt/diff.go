package prompt

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/setting"
)

// Sent is a request as it was sent, with what is known of it.
type Sent struct {
	Request  model.Request
	Encoded  []byte
	Manifest parley.Manifest
	Parts    []Part // as Parts returns them
	Shown    []parley.Message
}

// Cause says why two requests differ.
type Cause string

// The causes.
const (
	CauseModel      Cause = "model"
	CauseTools      Cause = "tools"
	CauseSystem     Cause = "system_prompt"
	CauseParameters Cause = "parameters"
	CauseSummary    Cause = "summary" // a summary replaced messages
	CauseWindow     Cause = "window"  // the window begins elsewhere
	CauseMarks      Cause = "marks"   // a message within is newly shown or left out
	CauseMessages   Cause = "messages"
	CauseAppended   Cause = "appended" // only new messages at the end
	CauseWire       Cause = "wire"     // another encoder, or fields of the wire's own
)

// Change is one difference between two requests.
type Change struct {
	Cause  Cause        `json:"cause" enum:"model,tools,system_prompt,parameters,summary,window,marks,messages,appended,wire"` //nolint:lll // a tag cannot be broken
	Says   string       `json:"says" doc:"For people."`
	Breaks bool         `json:"breaks_prefix" doc:"From here on the provider cannot use its cache."`
	Lines  []LineChange `json:"lines" doc:"For a system prompt: the lines that differ."`
	Names  []string     `json:"names" doc:"For tools: + added, - removed, ~ changed."`
}

// LineChange is a line that only one of two texts has.
type LineChange struct {
	Line int    `json:"line" doc:"The line's number in the text that has it, from 1."`
	Sign string `json:"sign" enum:"+,-"`
	Text string `json:"text"`
}

// FirstByte is the first difference between two requests.
type FirstByte struct {
	Offset int  `json:"offset"`
	Kind   Kind `json:"kind" enum:"tool,system,summary,context_note,message,parameters" doc:"The part of the later request that contains it."`

	Name     *string `json:"name" doc:"The name of a tool, or of the tool of a call or result."`
	Sequence *int64  `json:"sequence"`
	Was      string  `json:"was" doc:"The earlier request's text there, clipped."`
	Is       string  `json:"is"`
}

// Shared is the common beginning of two requests, in the order in which providers read: tools, system prompt, messages.
type Shared struct {
	Bytes    int `json:"bytes" doc:"Bytes of the shared parts."`
	OfBytes  int `json:"of_bytes"`
	Tokens   int `json:"tokens" doc:"An estimate."`
	OfTokens int `json:"of_tokens"`
	Messages int `json:"messages" doc:"The number of equal request messages, from the first on."`
}

// Difference says how a request differs from an earlier one.
type Difference struct {
	Identical bool       `json:"identical"`
	First     *FirstByte `json:"first_difference" doc:"Null when the bytes are equal."`
	Shared    Shared     `json:"shared"`
	Changes   []Change   `json:"changes" doc:"The first that breaks the prefix is the reason for a cache miss."`
}

// Breaks returns the first change that breaks the prefix, nil if none does.
func (d *Difference) Breaks() *Change {
	for i := range d.Changes {
		if d.Changes[i].Breaks {
			return &d.Changes[i]
		}
	}
	return nil
}

// Compare returns how a request differs from an earlier one.
func Compare(before, after *Sent) Difference {
	d := Difference{Identical: bytes.Equal(before.Encoded, after.Encoded), Changes: []Change{}}
	d.Shared = CommonPrefix(before, after)
	if !d.Identical {
		d.First = firstByte(before, after)
	}
	a, b := &before.Request, &after.Request
	if a.Model != b.Model {
		d.Changes = append(
			d.Changes,
			Change{
				Cause:  CauseModel,
				Breaks: true,
				Says:   fmt.Sprintf("The model is %s and was %s: providers keep a cache per model.", b.Model, a.Model),
			},
		)
	}
	if change, ok := toolChange(a.Tools, b.Tools); ok {
		d.Changes = append(d.Changes, change)
	}
	if a.System != b.System {
		lines := lineChanges(a.System, b.System)
		d.Changes = append(d.Changes, Change{Cause: CauseSystem, Breaks: true, Lines: lines, Says: systemSays(lines)})
	}
	if change, ok := messageChange(before, after, d.Shared.Messages); ok {
		d.Changes = append(d.Changes, change)
	}
	if says := parametersSay(a, b); says != "" {
		d.Changes = append(d.Changes, Change{Cause: CauseParameters, Says: says})
	}
	for i := range d.Changes { // empty lists must be lists in JSON too
		c := &d.Changes[i]
		c.Lines, c.Names = append([]LineChange{}, c.Lines...), append([]string{}, c.Names...)
	}
	if len(d.Changes) == 0 && !d.Identical {
		d.Changes = append(
			d.Changes,
			Change{
				Cause: CauseWire,
				Lines: []LineChange{},
				Names: []string{},
				Says:  "What is sent is the same; the wire's own fields, or its encoder, are not.",
			},
		)
	}
	return d
}

// CommonPrefix returns the common beginning of two requests, in the order in which providers read. A part counts if all
// its bytes are equal.
func CommonPrefix(before, after *Sent) Shared {
	a, b := &before.Request, &after.Request
	s := Shared{OfTokens: Tokens(after.Parts)}
	for i := range after.Parts {
		s.OfBytes += after.Parts[i].Bytes
	}
	for s.Messages < len(a.Messages) && s.Messages < len(b.Messages) && sameMessage(&a.Messages[s.Messages],
		&b.Messages[s.Messages]) {
		s.Messages++
	}
	tools, system := sharedTools(a.Tools, b.Tools), a.System == b.System
	all := len(a.Tools) == len(b.Tools) && tools == len(b.Tools)
	if a.Model != b.Model {
		tools, all = 0, false
	}
	if !all || !system {
		s.Messages = 0
	}
	shown := sharedSequences(b.Messages[:s.Messages])
	for i := range after.Parts {
		p := &after.Parts[i]
		same := false
		switch p.Kind {
		case KindTool:
			same = i < tools
		case KindSystem:
			same = all && system
		case KindParameters:
		default:
			same = shown[shownAs{parley.ValueOf(p.Sequence), model.Role(*p.Role)}] // a notice has no sequence
		}
		if same {
			s.Bytes += p.Bytes
			s.Tokens += p.Tokens
		}
	}
	return s
}

// shownAs is a message of the record in a role: a call without a result has two roles.
type shownAs struct {
	sequence int64
	role     model.Role
}

func sharedSequences(messages []model.Message) map[shownAs]bool {
	shown := map[shownAs]bool{}
	for i := range messages {
		for j := range messages[i].Parts {
			shown[shownAs{messages[i].Parts[j].Sequence, messages[i].Role}] = true
		}
	}
	return shown
}

func sameMessage(a, b *model.Message) bool {
	return a.Role == b.Role && slices.EqualFunc(a.Parts, b.Parts, func(x, y model.Part) bool {
		return x.Kind == y.Kind && x.Text == y.Text && x.CallID == y.CallID && x.Name == y.Name &&
			x.IsError == y.IsError &&
			bytes.Equal(x.Arguments, y.Arguments) &&
			bytes.Equal(x.ProviderData, y.ProviderData) &&
			bytes.Equal(x.Data, y.Data)
	})
}

func sameTool(a, b parley.ToolDefinition) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
}

func sharedTools(a, b []parley.ToolDefinition) int {
	n := 0
	for n < len(a) && n < len(b) && sameTool(a[n], b[n]) {
		n++
	}
	return n
}

func toolChange(a, b []parley.ToolDefinition) (Change, bool) {
	change := Change{Cause: CauseTools, Breaks: true}
	named := func(in []parley.ToolDefinition, name string) int {
		return slices.IndexFunc(in, func(t parley.ToolDefinition) bool { return t.Name == name })
	}
	for i := range b {
		switch at := named(a, b[i].Name); {
		case at < 0:
			change.Names = append(change.Names, "+"+b[i].Name)
		case !sameTool(a[at], b[i]):
			change.Names = append(change.Names, "~"+b[i].Name)
		}
	}
	for i := range a {
		if named(b, a[i].Name) < 0 {
			change.Names = append(change.Names, "-"+a[i].Name)
		}
	}
	if len(change.Names) == 0 {
		return change, false
	}
	change.Says = "The list of tools changed: " + strings.Join(
		change.Names,
		", ",
	) + ". It stands before everything else."
	return change, true
}

// The bounds of a text's reported lines.
const (
	mostLines     = 40
	lineRunes     = 200
	excerptBefore = 24
	excerptBytes  = 120
)

// lineChanges returns the lines in which two texts differ, without their common beginning and end.
func lineChanges(a, b string) []LineChange {
	was, is := strings.Split(a, "\n"), strings.Split(b, "\n")
	from := 0
	for from < len(was) && from < len(is) && was[from] == is[from] {
		from++
	}
	end := 0
	for end < len(was)-from && end < len(is)-from && was[len(was)-1-end] == is[len(is)-1-end] {
		end++
	}
	var changes []LineChange
	add := func(sign string, lines []string) {
		for i := range lines {
			if len(changes) < mostLines {
				changes = append(
					changes,
					LineChange{Line: from + i + 1, Sign: sign, Text: parley.Clip(lines[i], lineRunes)},
				)
			}
		}
	}
	add("-", was[from:len(was)-end])
	add("+", is[from:len(is)-end])
	return changes
}

func systemSays(lines []LineChange) string {
	if len(lines) == 0 {
		return "The system prompt changed. It stands before all messages."
	}
	at := lines[len(lines)-1]
	return fmt.Sprintf(
		"The system prompt changed from line %d on, which now reads %q. It stands before all messages.",
		lines[0].Line,
		parley.Clip(at.Text, 80),
	)
}

func parametersSay(a, b *model.Request) string {
	names := setting.Differing(&parley.Settings{Parameters: a.Parameters}, &parley.Settings{Parameters: b.Parameters})
	if a.Think != b.Think {
		names = append(names, "think")
	}
	if a.Search != b.Search {
		names = append(names, "search")
	}
	if len(names) == 0 {
		return ""
	}
	return "Other parameters: " + strings.Join(
		names,
		", ",
	) + ". They are not part of the text that providers cache, but some (thinking, search) make a provider start over."
}

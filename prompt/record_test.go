package prompt_test

import (
	"encoding/json"
	"strconv"

	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
)

const (
	modelA parley.ModelID = "sim/echo"
	modelB parley.ModelID = "openai/gpt-5"
)

// record is a session's record as a store would hold it.
type record struct {
	rows  []parley.Message // ascending, without gaps
	reads int              // rows returned by Tail
}

func (r *record) add(m parley.Message) *parley.Message {
	m.Sequence = int64(len(r.rows) + 1)
	if m.Status == "" {
		m.Status = parley.MessageCompleted
	}
	r.rows = append(r.rows, m)
	return &r.rows[len(r.rows)-1]
}

// session returns a snapshot of the first n rows.
func (r *record) session(n int) parley.Session {
	s := parley.Session{LastSequence: int64(n)}
	for _, m := range r.rows[:n] {
		s.Statistics.Messages++
		if !m.Internal {
			s.Statistics.UserFacing++
		}
	}
	return s
}

// tail reads the first n rows newest first, as the port requires.
func (r *record) tail(n int) prompt.Tail {
	return func(before int64, limit int) ([]parley.Message, bool, error) {
		page := make([]parley.Message, 0, min(limit, n))
		for i := n - 1; i >= 0 && len(page) < limit; i-- {
			if m := r.rows[i]; (before == 0 || m.Sequence < before) && !m.Internal && m.Status.Settled() {
				page = append(page, m)
				if m.Marks.ContextEdge {
					break
				}
			}
		}
		r.reads += len(page)
		return page, len(page) == limit, nil
	}
}

// head finds among the first n rows what may precede a window, as the port requires.
func (r *record) head(n int) func() (parley.ContextHead, error) {
	return func() (head parley.ContextHead, _ error) {
		var edge int64
		for _, m := range r.rows[:n] {
			if m.Marks.ContextEdge {
				edge = m.Sequence
			}
		}
		head.Edge = edge
		seen := func(m *parley.Message) bool {
			return !m.Internal && !m.Marks.SetAside &&
				(m.Status == parley.MessageCompleted || m.Status == parley.MessageCancelled)
		}
		for i := range r.rows[:n] {
			if m := &r.rows[i]; m.CoversThrough != nil && *m.CoversThrough >= edge && seen(m) {
				head.Summary = m
			}
		}
		pinned := map[string]bool{} // calls
		for i := range r.rows[:n] {
			if p := &r.rows[i]; p.Marks.Pinned && seen(p) && p.ToolCallID != "" {
				pinned[p.ToolCallID] = true
			}
		}
		for i := range r.rows[:n] {
			m := &r.rows[i]
			if head.First == nil && m.Role == parley.RoleUser && m.Sequence >= edge && seen(m) {
				head.First = m
			}
			if (m.Marks.Pinned || pinned[m.ToolCallID]) && seen(m) {
				head.Pinned = append(head.Pinned, *m)
			}
		}
		return head, nil
	}
}

func content[C interface {
	parley.UserContent | parley.AssistantContent | parley.ToolCallContent | parley.ToolResultContent |
		parley.TextContent
}](c C) json.RawMessage {
	raw, err := parley.EncodeContent(c)
	if err != nil {
		panic(err)
	}
	return raw
}

func user(turn parley.ID, text string) parley.Message {
	return parley.Message{TurnID: turn, Role: parley.RoleUser, Content: content(parley.UserContent{Text: text})}
}

func assistant(turn parley.ID, step int, c parley.AssistantContent) parley.Message {
	return parley.Message{TurnID: turn, Step: step, Role: parley.RoleAssistant, Model: modelA, Content: content(c)}
}

func call(turn parley.ID, step int, id, arguments string) parley.Message {
	return parley.Message{
		TurnID:     turn,
		Step:       step,
		Role:       parley.RoleToolCall,
		Model:      modelA,
		ToolCallID: id,
		ToolName:   "search",
		Content:    content(parley.ToolCallContent{ID: id, Name: "search", Arguments: json.RawMessage(arguments)}),
	}
}

func result(turn parley.ID, step int, id, value string) parley.Message {
	return parley.Message{TurnID: turn, Step: step, Role: parley.RoleToolResult, ToolCallID: id, ToolName: "search",
		Content: content(parley.ToolResultContent{Result: json.RawMessage(value), Success: true})}
}

func turnID(n int) parley.ID {
	var id parley.ID
	id[0], id[1], id[15] = byte(n>>8), byte(n), 1
	return id
}

// drawRecord makes a conversation with everything that one may contain, and the positions where a step began: its
// request could see the rows before them.
func drawRecord(t *rapid.T, turns int, models []parley.ModelID) (r *record, begins []int) {
	r = &record{}
	calls := 0
	chance := func(label string, percent int) bool { return rapid.IntRange(1, 100).Draw(t, label) > 100-percent }
	for turn := 1; turn <= turns; turn++ {
		id := turnID(turn)
		if chance("import", 10) {
			r.add(user(parley.ID{}, "recorded alone"))
			r.add(parley.Message{Role: parley.RoleSummary, Content: content(parley.TextContent{Text: "summed up"})})
		}
		if chance("hidden", 15) {
			r.add(
				parley.Message{
					Role:     parley.RoleUser,
					Internal: true,
					Content:  content(parley.UserContent{Text: "hidden"}),
				},
			)
		}
		trigger := user(id, "question "+strconv.Itoa(turn))
		if chance("note", 20) {
			trigger.ContextNote = "note " + strconv.Itoa(turn)
		}
		r.add(trigger)
		model := rapid.SampledFrom(models).Draw(t, "model")
		steps := rapid.IntRange(1, 3).Draw(t, "steps")
		for step := 1; step <= steps; step++ {
			begins = append(begins, len(r.rows))
			if chance("failed attempt", 15) {
				m := assistant(id, step, parley.AssistantContent{Text: "broken"})
				m.Status = parley.MessageFailed
				r.add(m)
				begins = append(begins, len(r.rows))
			}
			c := parley.AssistantContent{Text: "answer " + strconv.Itoa(step)}
			if chance("reasons", 30) {
				c.Reasoning = "because"
			}
			m := assistant(id, step, c)
			m.Model = model
			if c.Reasoning != "" && chance("signed", 50) {
				m.ProviderData = []byte("signature")
			}
			if step == steps && chance("cancelled", 20) {
				m.Status = parley.MessageCancelled
			}
			r.add(m)
			if step == steps && !chance("open calls", 15) {
				continue
			}
			n := rapid.IntRange(1, 3).Draw(t, "calls")
			for i := range n {
				m := call(id, step, "c"+strconv.Itoa(calls+i), `{"q":1}`)
				m.Model = model
				r.add(m)
			}
			for i := range n {
				if step < steps && !chance("lost result", 10) {
					r.add(result(id, step, "c"+strconv.Itoa(calls+i), `"found"`))
				}
			}
			if chance("orphan", 5) {
				r.add(result(id, step, "nobody's", `1`))
			}
			calls += n
			if chance("steer", 10) && step < steps {
				r.add(user(id, "steered"))
			}
		}
	}
	return r, begins
}

func drawPolicy(t *rapid.T) parley.Policy {
	return rapid.SampledFrom([]parley.Policy{
		{Kind: parley.PolicyAll},
		{Kind: parley.PolicySingle},
		{
			Kind:  parley.PolicyRecent,
			Limit: 1,
		},
		{Kind: parley.PolicyRecent, Limit: 4},
		{Kind: parley.PolicyRecent, Limit: 11},
		{Kind: parley.PolicySummary},
		{Kind: parley.PolicySummary, Tokens: 2000},
		{Kind: parley.PolicyAuto},
		{Kind: parley.PolicyAuto, Tokens: 2000},
	}).Draw(t, "policy")
}

func mustWindow(
	t rapid.TB,
	policy parley.Policy,
	session parley.Session,
	turn parley.Turn,
	tail prompt.Tail,
) prompt.Selection {
	t.Helper()
	selection, err := prompt.Window(prompt.View{Policy: policy, Session: session, Turn: turn, Tail: tail})
	if err != nil {
		t.Fatal(err)
	}
	return selection
}

func mustBuild(
	t rapid.TB,
	settings prompt.Settings,
	selection prompt.Selection,
	steers ...parley.Message,
) (model.Request, parley.Manifest) {
	t.Helper()
	request, manifest, err := prompt.Build(settings, selection, steers, mustTools(t, tools()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return request, manifest
}

func mustTools(t rapid.TB, definitions []parley.ToolDefinition) prompt.Tools {
	t.Helper()
	made, err := prompt.NewTools(definitions)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func tools() []parley.ToolDefinition {
	return []parley.ToolDefinition{
		{
			Name:        "search",
			Description: "Searches.",
			Parameters:  json.RawMessage(`{ "type": "object", "properties": {"q": {"type":"integer"}} }`),
		},
		{Name: "current_time", Description: "Tells the time."},
	}
}

func sequences(messages []parley.Message) []int64 {
	out := make([]int64, len(messages))
	for i, m := range messages {
		out[i] = m.Sequence
	}
	return out
}

func manifestBytes(t rapid.TB, m parley.Manifest) int {
	t.Helper()
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return len(raw)
}

// named lists the sequences up to last that a manifest names.
func named(m parley.Manifest, last int) []int64 {
	var out []int64
	for s := int64(1); s <= int64(last); s++ {
		if prompt.Includes(m, s) {
			out = append(out, s)
		}
	}
	return out
}

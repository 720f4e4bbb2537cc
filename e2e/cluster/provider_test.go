package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// script is the text of a message that tells the provider what to do in its turn: the number
// of steps and words, with tool calls in each step but the last.
type script struct {
	N      int `json:"n"` // distinguishes messages
	Steps  int `json:"steps"`
	Words  int `json:"words"`
	PaceMS int `json:"pace_ms"`
	Calls  int `json:"calls"`   // of the tool whose effect counts, in each step but the last
	RestMS int `json:"rest_ms"` // the tool's pause before and after its effect
	Times  int `json:"times"`   // further calls of current_time
	Asks   int `json:"asks"`    // further calls of the tool that the client answers
	Poison int `json:"poison"`  // further calls of the tool that ends its process
}

func (s script) String() string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // integers
	}
	return string(raw)
}

// text is the whole answer of a step, from 1.
func (s script) text(step int) string {
	var text strings.Builder
	for _, word := range s.words(step) {
		text.WriteString(word)
	}
	return text.String()
}

func (s script) words(step int) []string {
	words := []string{fmt.Sprintf("n%d step %d of %d:", s.N, step, s.Steps)}
	for i := range s.Words {
		words = append(words, fmt.Sprintf(" word%d", i))
	}
	return words
}

// functionCall is a tool call on the wire.
type functionCall struct{ name, arguments string }

// calls are the tool calls of every step but the last.
func (s script) calls() []functionCall {
	counts := functionCall{"effect", fmt.Sprintf(`{"before_ms":%d,"after_ms":%d}`, s.RestMS, s.RestMS)}
	return slices.Concat(
		slices.Repeat([]functionCall{counts}, s.Calls),
		slices.Repeat(
			[]functionCall{{"current_time", "{}"}},
			s.Times,
		),
		slices.Repeat([]functionCall{{"ask", "{}"}}, s.Asks),
		slices.Repeat([]functionCall{{"poison", "{}"}}, s.Poison),
	)
}

// provider answers Chat Completions by the scripts in its requests. It also checks each
// request for validity.
type provider struct {
	url      string
	teams    *atomic.Int64 // last steps of jobs answered
	mu       sync.Mutex    // guards problems and requests
	problems []string
	requests int
}

func newProvider(t *testing.T, teams *atomic.Int64) *provider {
	t.Helper()
	p := &provider{teams: teams}
	server := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	p.url = server.URL + "/v1"
	return p
}

// chatMessage is the part of a request's messages that the provider reads.
type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []struct {
		ID string `json:"id"`
	} `json:"tool_calls"`
	CallID string `json:"tool_call_id"`
}

func (m chatMessage) text() string {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(m.Content, &parts) // neither: no text
	for _, part := range parts {
		text += part.Text
	}
	return text
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Model    string        `json:"model"`
		Messages []chatMessage `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	said, problem := p.reply(body.Model, body.Messages)
	p.mu.Lock()
	p.requests++
	if problem != "" {
		p.problems = append(p.problems, problem)
	}
	p.mu.Unlock()
	if problem != "" {
		http.Error(w, problem, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	said.send(r.Context(), w)
}

// reply is what the provider says in one step.
type reply struct {
	name  string // distinguishes it and its calls
	words []string
	calls []functionCall
	pace  time.Duration // between words
}

// reply finds the next step of the script, or of the job of an agent of a team, to which a request belongs.
func (p *provider) reply(model string, messages []chatMessage) (said reply, problem string) {
	if model == teamModel {
		if said, problem = obey(messages); problem == "" && len(said.calls) == 0 {
			p.teams.Add(1)
		}
		return said, problem
	}
	s, step, problem := place(messages)
	said = reply{
		name:  fmt.Sprintf("%d_%d", s.N, step),
		words: s.words(step),
		pace:  time.Duration(s.PaceMS) * time.Millisecond,
	}
	if step < s.Steps {
		said.calls = s.calls()
	}
	return said, problem
}

// tell reports invalid requests.
func (p *provider) tell(x *trial) {
	x.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	x.add("model requests", p.requests)
	for _, problem := range p.problems {
		x.problem("a request to the model: %s", problem)
	}
}

// place finds the script to which a request belongs, and its next step. The agents of the
// trials see only the running turn, so the first user message is the turn's trigger, and
// further ones were steered in.
func place(messages []chatMessage) (s script, step int, problem string) {
	found := false
	open := map[string]bool{}
	step = 1
	for _, m := range messages {
		switch m.Role {
		case "user":
			if len(open) > 0 {
				return s, step, fmt.Sprintf("turn n%d: a user's message stands between calls and their results", s.N)
			}
			if !found && json.Unmarshal([]byte(m.text()), &s) == nil {
				found = true
			}
		case "assistant":
			if len(m.Calls) > 0 {
				step++
			}
			for _, call := range m.Calls {
				open[call.ID] = true
			}
		case "tool":
			if !open[m.CallID] {
				return s, step, fmt.Sprintf("turn n%d: a result answers %q, which is not open", s.N, m.CallID)
			}
			delete(open, m.CallID)
		}
	}
	switch {
	case !found:
		return s, step, fmt.Sprintf("a request of %d messages holds no script", len(messages))
	case len(open) > 0:
		return s, step, fmt.Sprintf("turn n%d: %d calls have no result", s.N, len(open))
	case step > s.Steps:
		return s, step, fmt.Sprintf("turn n%d was asked for step %d of %d", s.N, step, s.Steps)
	}
	return s, step, ""
}

// send streams a step word by word.
func (r reply) send(ctx context.Context, w http.ResponseWriter) {
	out := http.NewResponseController(w)
	chunk := func(choices, more string) bool {
		_, err := fmt.Fprintf(
			w,
			`data: {"id":"chatcmpl-n%s","object":"chat.completion.chunk","created":1767225600,"model":"trial",`+
				`"choices":[%s]%s}`+"\n\n",
			r.name,
			choices,
			more,
		)
		return err == nil && out.Flush() == nil
	}
	send := func(delta, finish string) bool {
		return chunk(fmt.Sprintf(`{"index":0,"delta":%s,"finish_reason":%s}`, delta, finish), "")
	}
	for _, word := range r.words {
		if !send(fmt.Sprintf(`{"content":%q}`, word), "null") {
			return
		}
		if r.pace > 0 && !pause(ctx, r.pace) {
			return
		}
	}
	finish := `"stop"`
	for i, call := range r.calls {
		finish = `"tool_calls"`
		if !send(
			fmt.Sprintf(
				`{"tool_calls":[{"index":%d,"id":"call_%s_%d","type":"function","function":{"name":%q,`+
					`"arguments":%q}}]}`,
				i,
				r.name,
				i,
				call.name,
				call.arguments,
			),
			"null",
		) {
			return
		}
	}
	if send(`{}`, finish) && chunk("", fmt.Sprintf(
		`,"usage":{"prompt_tokens":10,"completion_tokens":%d,"total_tokens":%d}`, len(r.words), 10+len(r.words),
	)) {
		_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
	}
}

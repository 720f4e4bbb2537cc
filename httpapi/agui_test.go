package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/llm"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
	"example.org/parley/protocol/agui"
	"example.org/parley/protocol/aisdk"
	"example.org/parley/store"
)

// turnReads is the engine's store, with something that happens before or after a turn is read.
type turnReads struct {
	engine.Store
	before, after atomic.Pointer[func(turn parley.Turn)]
}

func (r *turnReads) Turn(ctx context.Context, scope store.Scope, id parley.ID) (parley.Turn, error) {
	turn, err := r.Store.Turn(ctx, scope, id)
	if before := r.before.Load(); before != nil && err == nil {
		(*before)(turn)
		turn, err = r.Store.Turn(ctx, scope, id)
	}
	if after := r.after.Load(); after != nil && err == nil {
		(*after)(turn)
	}
	return turn, err
}

// afterTools answers after a tool only once it may.
type afterTools struct {
	*sim.Model
	may chan struct{}
}

func (m afterTools) Stream(ctx context.Context, request model.EncodedRequest) iter.Seq2[model.Chunk, error] {
	if bytes.Contains(request.Body, []byte(`"role":"tool"`)) {
		select {
		case <-m.may:
		case <-ctx.Done():
		}
	}
	return m.Model.Stream(ctx, request)
}

// TestARunTellsTheAnswerOfATurnThatEnds: a client that answers an interrupt, or connects, gets the answer also if the
// turn ends while its record is read.
func TestARunTellsTheAnswerOfATurnThatEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, resume, want string
		approved                 bool // before the client comes
	}{
		{"an interrupt is answered", "/agui/asks", `,"resume":[{"interruptId":%q,"status":"resolved",` +
			`"payload":{"approved":true}}]`, `"delta":"Late."`, false},
		{"a client connects", "/agui/asks/connect", "", `"content":"Late."`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			may := make(chan struct{})
			s := startServerWith(t, func(t *testing.T) *llm.Registry {
				return objectModels(t, afterTools{sim.New(), may}, model.OutputTool, "script")
			}, func(o *Options) { o.Mounts = append(o.Mounts, agui.Mount(o.Engine, o.Streams)) })
			want[parley.Agent](s, 201, "POST", "/v1/agents", `{"slug":"asks","name":"Asks","model":"other/script",`+
				`"tools":["current_time"],"grants":[{"tool":"current_time","effect":"ask"}]}`)
			run := func(path, messages, more string) string {
				got := s.do("POST", path, `{"threadId":"t","runId":"r","messages":[`+messages+`]`+more+`}`)
				if got.status != 200 {
					t.Fatalf("status %d: %s", got.status, got.body)
				}
				return string(got.body)
			}
			const script = `[[{\"tool_call\":{\"name\":\"current_time\",\"arguments\":{}}}],[{\"text\":\"Late.\"}]]`
			asked := run("/agui/asks", `{"id":"m","role":"user","content":"`+script+`"}`, "")
			id := regexp.MustCompile(`"interrupts":\[{"id":"([^"]+)"`).FindStringSubmatch(asked)
			if id == nil {
				t.Fatalf("nothing is asked: %s", asked)
			}
			if c.approved {
				open := want[page[parley.Approval]](s, 200, "GET", "/v1/approvals", "").Data
				want[parley.Approval](s, 200, "POST", "/v1/approvals/"+open[0].ID.String(), `{"decision":"approve"}`)
			}
			answers := sync.OnceFunc(func() { close(may) })
			ends := func(turn parley.Turn) {
				if turn.Status != parley.TurnWaiting { // it is approved
					answers()
					s.awaitEnd(turn.SessionID.String())
				}
			}
			s.turns.before.Store(&ends)
			more := c.resume
			if more != "" {
				more = fmt.Sprintf(more, id[1])
			}
			told := run(c.path, "", more)
			if !strings.Contains(told, c.want) || !strings.Contains(told, `"type":"RUN_FINISHED"`) {
				t.Errorf("the client is told:\n%s", told)
			}
		})
	}
}

// TestARunDoesNotEndOnAWaitThatIsOver: a limit that is raised while a client connects is not told as an interrupt.
func TestARunDoesNotEndOnAWaitThatIsOver(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *Options) { o.Mounts = append(o.Mounts, agui.Mount(o.Engine, o.Streams)) })
	want[parley.Agent](s, 201, "POST", "/v1/agents",
		`{"slug":"tight","name":"Tight","model":"sim/echo","limits":{"session_tokens":50}}`)
	run := func(path, messages string) string {
		return string(s.do("POST", path, `{"threadId":"t","runId":"r","messages":[`+messages+`]}`).body)
	}
	asked := run("/agui/tight", `{"id":"m","role":"user","content":"`+strings.Repeat("many words ", 40)+`"}`)
	if !strings.Contains(asked, `"type":"interrupt"`) {
		t.Fatalf("the limit is not reached: %s", asked)
	}
	raise := sync.OnceFunc(func() {
		session := want[page[parley.Session]](s, 200, "GET", "/v1/sessions", "").Data[0].ID.String()
		want[parley.Session](s, 200, "PATCH", "/v1/sessions/"+session, `{"limits":{"session_tokens":100000}}`)
		s.awaitEnd(session)
	})
	after := func(parley.Turn) { raise() }
	s.turns.after.Store(&after)
	told := run("/agui/tight/connect", "")
	if !strings.Contains(told, `"content":"many words`) || strings.Contains(told, `"type":"interrupt"`) ||
		!strings.Contains(told, `"type":"RUN_FINISHED"`) {
		t.Errorf("the client is told:\n%s", told)
	}
}

// TestAFirstMessageSentAgainIsNotAskedTwice: a client that lost the answer sends the message again that began its
// thread or chat, while the turn runs or after it.
func TestAFirstMessageSentAgainIsNotAskedTwice(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *Options) {
		o.Mounts = append(o.Mounts, agui.Mount(o.Engine, o.Streams), aisdk.Mount(o.Engine, o.Streams))
	})
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"slug":"asked","name":"Asked","model":"sim/echo"}`)
	for path, body := range map[string]string{
		"/agui/asked": `{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"Hello"}]}`,
		"/ai-sdk/asked": `{"id":"t","trigger":"submit-message","messages":[{"id":"m","role":"user",` +
			`"parts":[{"type":"text","text":"Hello"}]}]}`,
	} {
		var id string
		for range 3 {
			got := s.do("POST", path, body)
			if id = got.header.Get("X-Parley-Session"); got.status != 200 || id == "" ||
				!strings.Contains(string(got.body), `"delta":"Hello"`) {
				t.Fatalf("%s: status %d, session %q: %s", path, got.status, id, got.body)
			}
		}
		if record := s.recordOf("/v1/sessions/" + id); len(record) != 2 {
			t.Errorf("%s: the message was asked again: %d messages", path, len(record))
		}
	}
}

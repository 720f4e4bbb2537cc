package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/internal/acpwire"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// listening is a session whose program is a test: what it is answered goes nowhere.
func listening() *session {
	s := &session{
		runtime: &Runtime{command: Command{Name: "fuzzed"}, sessions: map[parley.ID]*session{}},
		own:     "own", turnID: parley.NewID(), wake: make(chan struct{}, 1),
		calls: map[string]*call{}, stands: map[string]*call{},
	}
	s.closing.Do(func() {}) // there is no process to end
	s.conn = acpwire.NewConn(func([]byte) error { return nil })
	s.conn.Told, s.conn.Asked = s.told, s.asked
	return s
}

// FuzzSession: whatever a program tells and asks, what is kept of it keeps within its
// bounds, and every call that is shown can be written into the record.
func FuzzSession(f *testing.F) {
	const update = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"own","update":`
	for _, seed := range []string{
		update + `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"}}}}`,
		update + `{"sessionUpdate":"tool_call","toolCallId":"a","title":"A\u0000",` +
			`"kind":"edit","status":"in_progress"}}}`,
		update + `{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed",` +
			`"content":[{"type":"diff"}]}}}`,
		update + `{"sessionUpdate":"plan","entries":[{"content":"x"}]}}}`,
		update + `{"sessionUpdate":"usage_update","used":53000,"size":200000,` +
			`"cost":{"amount":0.045,"currency":"USD"}}}}`,
		update + `{"sessionUpdate":"usage_update","used":1e99,"cost":{"amount":-1e99,"currency":"USD"}}}}`,
		update + `{"sessionUpdate":"usage_update","used":-1,"cost":{"currency":"USD"}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"own",` +
			`"toolCall":{"toolCallId":"a"},"options":[{"optionId":"yes","kind":"allow_once"}]}}`,
		`{"jsonrpc":"2.0","id":2,"method":"fs/read_text_file","params":{"sessionId":"own","path":"/etc/passwd"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"fs/write_text_file","params":{"sessionId":"own","path":"../x"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"terminal/create"}`,
	} {
		f.Add([]byte(seed + "\n" + seed + "\n"))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		s := listening()
		if err := s.conn.Read(bytes.NewReader(input)); err == nil {
			t.Fatal("it goes on behind its end")
		}
		s.runtime.ending.Wait()
		if s.conn.Why() == nil && (s.queued > maxQueued || len(s.queue) > maxQueuedPieces) || len(s.calls) > maxCalls {
			t.Fatalf("%d bytes in %d pieces, and %d calls are kept", s.queued, len(s.queue), len(s.calls))
		}
		for i := range s.queue {
			if c := s.queue[i].call; c != nil {
				arguments, err := c.arguments()
				if err != nil || !json.Valid([]byte(arguments)) || len(c.title) > maxTitle {
					t.Fatalf("a call with %q, %v", arguments, err)
				}
			}
		}
		held := 0
		for _, c := range s.calls {
			held += c.holds()
		}
		if held != s.held {
			t.Fatalf("the calls hold %d bytes, counted as %d", held, s.held)
		}
		usage, cost := s.spends.charge()
		if usage.InputTokens != nil && (*usage.InputTokens < 0 || *usage.InputTokens > parley.MaxLimitTokens) ||
			cost != nil && (*cost < 0 || *cost > parley.MaxLimitCost) {
			t.Fatalf("%v, %v are charged", *usage.InputTokens, cost)
		}
	})
}

// left is a turn that its run leaves.
type left struct {
	runner.Turn
	claim     store.Claim
	cancelled bool
}

func (l *left) Claim() *store.Claim { return &l.claim }
func (l *left) Cancelled() bool     { return l.cancelled }
func (l *left) Context() context.Context {
	ctx, end := context.WithCancel(context.Background())
	end()
	return ctx
}

// TestAWaitingTurnKeepsItsProgram: a decision may let a turn go on while the run that parked it is still on its way
// out, its context ended. The prompt goes on then, and only a cancel ends it.
func TestAWaitingTurnKeepsItsProgram(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ waits, cancelled, kept bool }{
		"claimed again":  {waits: true, kept: true},
		"cancelled":      {waits: true, cancelled: true},
		"it did not end": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := listening()
			s.finished = make(chan struct{})
			close(s.finished)
			turnID := s.turnID
			v := &voice{runtime: s.runtime, session: s, turn: &left{
				claim: store.Claim{Fence: store.Fence{TurnID: turnID}}, cancelled: test.cancelled,
			}}
			v.leave(test.waits)
			s.runtime.ending.Wait()
			if kept := s.of(turnID); kept != test.kept {
				t.Errorf("the prompt is kept: %t, not %t", kept, test.kept)
			}
			s.busy() // stops the timer
		})
	}
}

// TestSpending: the context counts once for each time that it has changed, and the costs
// as far as they have grown.
func TestSpending(t *testing.T) {
	t.Parallel()
	s := listening()
	s.named(kept{Session: "own", Cost: 1e9})
	tell := func(usage string) {
		t.Helper()
		line := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"own","update":` +
			`{"sessionUpdate":"usage_update",` + usage + "}}}\n"
		if err := s.conn.Read(strings.NewReader(line)); err != io.EOF { //nolint:errorlint // as it is
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		told   string
		tokens int64  // -1: unknown
		cost   string // "" : unknown
	}{
		{`"used":100,"size":1000`, 100, ""},
		{"", -1, ""},
		{`"used":100,"cost":{"amount":1.5,"currency":"USD"}`, 0, "0.5"},
		{`"used":250,"cost":{"amount":1.75,"currency":"usd"}`, 250, "0.25"},
		{`"used":300,"cost":{"amount":9,"currency":"EUR"}`, 300, ""},
		{`"used":40,"cost":{"amount":0.1,"currency":"USD"}`, 40, "0.1"}, // it counts from the beginning again
		{`"used":-1,"cost":{"amount":-1,"currency":"USD"}`, -1, ""},
		{`"used":"many","cost":{"currency":"USD"}`, -1, ""},
	} {
		if c.told != "" {
			tell(c.told)
		}
		usage, cost := s.spends.charge()
		tokens, money := int64(-1), ""
		if usage.InputTokens != nil {
			tokens = *usage.InputTokens
		}
		if cost != nil {
			money = cost.String()
		}
		if tokens != c.tokens || money != c.cost {
			t.Errorf("%s: %d tokens and %q, want %d and %q", c.told, tokens, money, c.tokens, c.cost)
		}
	}
}

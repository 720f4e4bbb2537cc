package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/store/storetest"
)

// longLease outlives every test.
const longLease = time.Hour

// errKilled is the fault hook's error at the moment of death.
var errKilled = errors.New("killed")

// actor is one run of a script: a store and the script's state.
type actor struct {
	ctx     context.Context
	store   *sqlite.Store
	scope   store.Scope
	owner   parley.Principal
	agent   parley.Agent
	process parley.ID
	session parley.ID
	claim   store.Claim
	begin   store.StepBegin
	posted  parley.Message
}

// move is one transition of a script.
type move struct {
	name string
	run  func(a *actor) error
}

func ok[T any](_ T, err error) error { return err }

// makes runs a move as a principal's call, so that its changes are audited.
func (a *actor) makes(t *testing.T, move move) error {
	intent := store.NewAuditIntent(
		parley.AuditEntry{WorkspaceID: a.scope.WorkspaceID, PrincipalID: a.owner.ID, PrincipalName: a.owner.Name,
			Action: move.name, RequestID: parley.NewID()},
	)
	a.ctx = store.WithAudit(t.Context(), intent)
	return move.run(a)
}

func (a *actor) say(text string) store.NewMessage {
	return store.NewMessage{ID: parley.NewID(), TurnID: parley.NewID(), Role: parley.RoleUser, Author: a.owner.Author(),
		Content: json.RawMessage(`{"text":"` + text + `"}`), Metadata: json.RawMessage(`{}`)}
}

func (a *actor) post(message store.NewMessage, claimBy parley.ID) error {
	posted, err := a.store.PostMessage(a.ctx, a.scope, a.session, message, claimBy)
	a.posted = posted.Message
	if posted.Claim != nil {
		a.claim = *posted.Claim
	}
	return err
}

func create() move {
	return move{"create", func(a *actor) error {
		a.session = parley.NewID()
		first := a.say("one")
		opened, err := a.store.EnsureSession(a.ctx, a.scope, store.NewSession{First: &first, Session: parley.Session{
			ID:          a.session,
			LogID:       parley.NewID(),
			WorkspaceID: a.scope.WorkspaceID,
			AgentID:     a.agent.ID,
			OwnerID:     a.owner.ID,
			Key:         "the key",
			Visibility:  parley.VisibilityPrivate,
			Kind:        parley.KindAgent,
			Mode:        parley.ModeForeground,
			Tags:        []string{"x"},
			Metadata:    json.RawMessage(`{}`),
		}}, a.process)
		if err == nil {
			a.claim = *opened.Posted.Claim
		}
		return err
	}}
}

func queue(text string, during parley.During) move {
	return move{"post " + text, func(a *actor) error {
		message := a.say(text)
		message.During = during
		return a.post(message, parley.ID{})
	}}
}

func claim() move {
	return move{"claim", func(a *actor) error {
		claims, err := a.store.Claim(a.ctx, a.process, 1, store.Occupancy{Slots: 10})
		if err == nil && len(claims) != 1 {
			return errors.New("nothing to claim")
		}
		if err == nil {
			a.claim = claims[0]
		}
		return err
	}}
}

func (a *actor) call(step, attempt int) parley.Call {
	return parley.Call{
		ID:        parley.NewID(),
		MessageID: parley.NewID(),
		Step:      step,
		Attempt:   attempt,
		Provider:  "sim",
		Model:     "sim/echo",
		SystemHash: parley.HashOf(
			[]byte("system"),
		),
		ToolsHash:      parley.HashOf([]byte("[]")),
		RequestHash:    parley.HashOf([]byte("request")),
		EncoderVersion: 1,
	}
}

func beginStep(step int, steer bool) move {
	return move{"begin step " + strconv.Itoa(step), func(a *actor) error {
		a.begin = store.StepBegin{
			Call:   a.call(step, 1),
			System: "system",
			Tools:  []byte("[]"),
			Author: parley.Author{Kind: parley.AuthorAgent, ID: a.agent.ID},
		}
		if steer {
			a.begin.Steers = []store.Steered{{MessageID: a.posted.ID, Revision: a.posted.Revision}}
		}
		return ok(a.store.BeginStep(a.ctx, a.claim.Fence, a.begin))
	}}
}

func callID(a *actor) string { return "call_" + a.begin.Call.ID.String() }

func openCall() move {
	return move{"open block", func(a *actor) error {
		return ok(
			a.store.OpenBlock(
				a.ctx,
				a.claim.Fence,
				store.BlockOpen{MessageID: callRow(a), Step: a.begin.Call.Step, Role: parley.RoleToolCall,
					Author: a.begin.Author, Model: "sim/tool", ToolCallID: callID(a), ToolName: "clock"},
			),
		)
	}}
}

// callRow returns the id of the step's tool_call message: the call's id with one digit changed.
func callRow(a *actor) parley.ID {
	id := a.begin.Call.ID
	id[15] ^= 1
	return id
}

func versions() move {
	return move{"versions", func(a *actor) error {
		return ok(a.store.AppendVersions(a.ctx, []store.FencedVersion{
			{
				Fence: a.claim.Fence,
				Version: parley.Version{
					MessageID: a.begin.Call.MessageID,
					N:         1,
					Kind:      parley.KindText,
					End:       4,
					Text:      "Half",
					Chunks:    1,
				},
			},
			{
				Fence: a.claim.Fence,
				Version: parley.Version{
					MessageID: a.begin.Call.MessageID,
					N:         2,
					Kind:      parley.KindText,
					Offset:    4,
					End:       7,
					Text:      " an",
					Chunks:    2,
				},
			},
		}))
	}}
}

func ended(a *actor) store.CallSettled {
	in, out, cost := int64(10), int64(4), parley.Money(7)
	return store.CallSettled{
		CallID:  a.begin.Call.ID,
		Outcome: parley.CallCompleted,
		Usage:   parley.Usage{InputTokens: &in, OutputTokens: &out},
		Cost:    &cost,
	}
}

func settle(name string, tool bool, end *store.TurnEnd) move {
	return move{name, func(a *actor) error {
		settle := store.StepSettle{Step: a.begin.Call.Step, Call: ended(a), End: end, Blocks: []store.BlockSettled{
			{
				MessageID: a.begin.Call.MessageID,
				Status:    parley.MessageCompleted,
				Content:   json.RawMessage(`{"parts":[{"text":"Half an answer","type":"text"}]}`),
			},
		}}
		if tool {
			settle.ToolsStarted = []string{callID(a)}
			settle.Blocks = append(
				settle.Blocks,
				store.BlockSettled{MessageID: callRow(a), Status: parley.MessageCompleted, ToolName: "clock",
					Content: json.RawMessage(`{"arguments":{},"id":"` + callID(a) + `","name":"clock"}`)},
			)
		}
		return ok(a.store.SettleStep(a.ctx, a.claim.Fence, settle))
	}}
}

const resultJSON = `{"error":null,"execution_time_ms":null,"parts":[{"text":"noon","type":"text"}],"success":true}`

func toolResult() move {
	return move{"tool result", func(a *actor) error {
		return ok(
			a.store.SettleTool(
				a.ctx,
				a.claim.Fence,
				store.ToolSettle{
					MessageID: parley.NewID(),
					Step:      a.begin.Call.Step,
					ToolCallID: callID(
						a,
					),
					ToolName: "clock",
					Content:  json.RawMessage(resultJSON),
					Author:   a.begin.Author,
				},
			),
		)
	}}
}

func simple(name string, run func(a *actor) error) move { return move{name, run} }

// scripts are conversations that together cover every transition.
func scripts() map[string][]move {
	completed, failed := &store.TurnEnd{
		Status: parley.TurnCompleted,
	}, &store.TurnEnd{
		Status:  parley.TurnFailed,
		Failure: &parley.Failure{Class: parley.ClassNetwork, Sentence: "No network."},
	}
	cancel := simple("cancel", func(a *actor) error {
		return ok(a.store.RequestCancel(a.ctx, a.scope, a.session, parley.ID{}, false))
	})
	outbox := simple("outbox", func(a *actor) error {
		_, _, err := a.store.ApplyOutbox(a.ctx, parley.ID{})
		return err
	})
	return map[string][]move{
		"tools": {
			create(),
			beginStep(1, false),
			openCall(),
			versions(),
			settle("settle with tool", true, nil),
			toolResult(),
			beginStep(2, false),
			settle("finish", false, completed),
		},
		"steer and retry": {
			create(),
			beginStep(1, false),
			simple("retry", func(a *actor) error {
				failed := ended(a)
				failed.Outcome, failed.Usage, failed.Cost = parley.CallFailed, parley.Usage{}, nil
				return a.store.RetryCall(
					a.ctx,
					a.claim.Fence,
					1,
					failed,
					store.RetryNotice{Attempt: 2, Class: parley.ClassNetwork},
				)
			}),
			simple("begin call", func(a *actor) error {
				again := a.begin
				again.Call = a.call(1, 2)
				again.Call.MessageID = a.begin.Call.MessageID
				a.begin = again
				return a.store.BeginCall(a.ctx, a.claim.Fence, again)
			}),
			queue(
				"steer",
				parley.DuringSteer,
			),
			settle("settle, steered", false, completed),
			beginStep(2, true),
			settle("finish", false, completed),
		},
		"queue": {
			create(),
			queue("two", ""),
			simple("edit", func(a *actor) error {
				return ok(
					a.store.EditQueued(a.ctx, a.scope, a.owner.ID, a.posted.ID, json.RawMessage(`{"text":"two!"}`)),
				)
			}),
			queue("three", ""),
			simple("remove", func(a *actor) error { return ok(a.store.RemoveQueued(a.ctx, a.scope, a.posted.ID)) }),
			simple(
				"note",
				func(a *actor) error { m := a.say("note"); m.TurnID = parley.ID{}; return a.post(m, parley.ID{}) },
			),
			beginStep(
				1,
				false,
			),
			settle("finish", false, completed),
			claim(),
			beginStep(1, false),
			settle("finish again", false, completed),
		},
		"failure with a steer": {create(), queue("steer", parley.DuringSteer), simple("fail", func(a *actor) error {
			return ok(a.store.FinishTurn(a.ctx, a.claim.Fence, *failed))
		}), claim(), queue("interrupt", parley.DuringInterrupt)},
		"cancel": {
			create(),
			queue("two", ""),
			beginStep(1, false),
			openCall(),
			versions(),
			cancel,
			simple("take", func(a *actor) error {
				return ok(a.store.TakeCancel(a.ctx, a.scope, a.session, a.claim.Turn.ID))
			}),
			simple("cancel the queued", func(a *actor) error {
				return ok(a.store.RequestCancel(a.ctx, a.scope, a.session, parley.ID{}, true))
			}),
		},
		"park": {
			create(),
			beginStep(1, false),
			openCall(),
			settle("settle with tool", true, nil),
			simple(
				"park",
				func(a *actor) error { return ok(a.store.ParkTurn(a.ctx, a.claim.Fence, parley.WaitToolResult)) },
			),
			simple("answer", func(a *actor) error {
				m := a.say("")
				m.Role, m.TurnID, m.ToolCallID, m.Content = parley.RoleToolResult, parley.ID{}, callID(
					a,
				), json.RawMessage(
					resultJSON,
				)
				return a.post(m, a.process)
			}),
			beginStep(2, false),
			settle("finish", false, completed),
		},
		"release and recover": {
			create(),
			beginStep(1, false),
			versions(),
			simple("release", func(a *actor) error { return a.store.ReleaseTurn(a.ctx, a.claim.Fence) }),
			claim(),
			simple("recover", func(a *actor) error { return ok(a.store.RecoverTurn(a.ctx, a.claim.Fence)) }),
			simple("expire", func(a *actor) error { return ok(a.store.RenewLease(a.ctx, a.process, -time.Second)) }),
			simple("sweep", func(a *actor) error { return ok(a.store.Sweep(a.ctx)) }),
		},
		"delete": {
			create(),
			beginStep(1, false),
			versions(),
			settle("finish", false, completed),
			queue("two", ""),
			claim(),
			beginStep(1, false),
			simple("mark", func(a *actor) error {
				pinned := true
				return ok(
					a.store.MarkMessage(a.ctx, a.scope, parley.ID{}, a.posted.ID, parley.MarksChange{Pinned: &pinned}),
				)
			}),
			simple(
				"delete",
				func(a *actor) error { return a.store.DeleteSession(a.ctx, a.scope, a.session) },
			),
			outbox,
			outbox,
			outbox,
		},
	}
}

// template is a database with a workspace and its agent, created once and copied.
type template struct {
	file  []byte
	scope store.Scope
	owner parley.Principal
	agent parley.Agent
}

func newTemplate(t *testing.T) template {
	t.Helper()
	dir := t.TempDir()
	store, err := sqlite.Open(t.Context(), dir, sqlite.Options{Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	made := template{}
	made.scope.WorkspaceID, err = store.Workspace(t.Context(), "default")
	if err == nil {
		made.owner, err = store.LocalOwner(t.Context(), made.scope.WorkspaceID)
	}
	if err == nil {
		made.agent, err = store.Agent(t.Context(), made.scope.WorkspaceID, parley.BuiltinAgentSlug)
	}
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	if made.file, err = os.ReadFile(filepath.Join(dir, sqlite.DatabaseFile)); err != nil {
		t.Fatal(err)
	}
	return made
}

// play runs moves on a fresh database.
func (m template) play(t *testing.T, moves []move, fault func(string) error) (dir string, a *actor) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, sqlite.DatabaseFile), m.file, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), dir, sqlite.Options{Readers: 1, Fault: fault})
	if err != nil {
		t.Fatal(err)
	}
	a = &actor{ctx: t.Context(), store: db, scope: m.scope, owner: m.owner, agent: m.agent, process: parley.NewID()}
	if err := db.RegisterProcess(t.Context(), store.Process{ID: a.process}, longLease); err != nil {
		t.Fatal(err)
	}
	for _, move := range moves {
		if err := a.makes(t, move); err != nil {
			t.Fatalf("%s: %v", move.name, err)
		}
	}
	return dir, a
}

// run plays a script's first moves on a fresh database and kills the process at the given point (from 1) of the next
// move; 0 kills nothing. It returns the state of a reopened store, the name of the point, and whether the move had
// committed; an empty name means that the move ended before the point.
func (m template) run(t *testing.T, moves []move, last, point int) (after, killedAt string, committed bool) {
	t.Helper()
	armed, count := false, 0 // used by the writer's goroutine during a move, otherwise by this one
	dir, a := m.play(t, moves[:last], func(at string) error {
		if !armed {
			return nil
		}
		committed = committed || at == sqlite.FaultCommitted
		if count++; count == point {
			killedAt = at
			return errKilled
		}
		return nil
	})
	if point > 0 {
		armed = true
		if err := a.makes(t, moves[last]); (killedAt == "") != (err == nil) {
			t.Fatalf("%s killed at %q gives %v", moves[last].name, killedAt, err)
		}
	}
	if err := a.store.Close(); err != nil {
		t.Fatalf("closing: %v", err)
	}
	store, err := sqlite.Open(t.Context(), dir, sqlite.Options{Readers: 1})
	if err != nil {
		t.Fatalf("reopening after a kill at %q: %v", killedAt, err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	return tell(t, store, m.scope, a.session), killedAt, committed
}

// noSession is the state of a store without sessions.
const noSession = "there is no session"

// tell reads and checks a session and its audit entries, and describes it without ids and times.
func tell(t *testing.T, db *sqlite.Store, scope store.Scope, session parley.ID) string {
	t.Helper()
	var out strings.Builder
	line := func(parts ...string) { out.WriteString(strings.Join(parts, " ") + "\n") }
	entries, err := db.Audit(t.Context(), scope.WorkspaceID, store.AuditQuery{Ascending: true, Limit: parley.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		line("audit", e.Action, strconv.FormatBool(e.SessionID == session), strconv.FormatBool(e.TargetID.IsZero()))
	}
	s, err := storetest.TakeSnapshot(t.Context(), db, scope, session)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		more := true
		for more && err != nil {
			var applying error
			if _, more, applying = db.ApplyOutbox(t.Context(), parley.ID{}); applying != nil {
				t.Fatalf("purging: %v", applying)
			}
		}
		return out.String() + noSession
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Check(t)
	statistics, err := json.Marshal(s.Session.Statistics)
	if err != nil {
		t.Fatal(err)
	}
	line("session", string(s.Session.Status), string(s.Session.WaitReason), string(statistics))
	for _, m := range append(s.Record, s.Queue...) {
		content := string(m.Content)
		if m.Role == parley.RoleToolCall {
			content = m.ToolName
		}
		line(
			"message",
			strconv.FormatInt(m.Sequence, 10),
			string(m.Role),
			string(m.Status),
			content,
			strconv.FormatBool(m.Marks.Pinned),
		)
		for _, version := range s.Versions[m.ID] {
			line("version", version.Text)
		}
	}
	for _, turn := range s.Turns {
		line(
			"turn",
			string(turn.Status),
			strconv.Itoa(turn.Attempt),
			strconv.Itoa(turn.Takeovers),
			strconv.Itoa(turn.Step),
		)
	}
	for _, call := range s.Calls {
		line("call", string(call.Outcome), strconv.Itoa(call.Step), strconv.Itoa(call.Attempt))
	}
	for _, event := range s.Events {
		line("event", string(event.Type))
	}
	return out.String()
}

// TestKilledAtEveryStatement kills the process at every statement of every transition: a reopened store must have the
// state before or after the transition, never between, and the audit entry must match. Each of the few thousand points
// is a process life of its own without concurrency, so `make test` runs these walks without the race detector, which
// would take ten times as long.
func TestKilledAtEveryStatement(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: every point opens a new store")
	}
	t.Parallel()
	made := newTemplate(t)
	for name, moves := range everyScript() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := noSession
			for i, move := range moves {
				behind, _, _ := made.run(t, moves, i+1, 0)
				reached := false
				for point := 1; ; point++ {
					after, killedAt, committed := made.run(t, moves, i, point)
					reached = reached || committed
					if killedAt == "" {
						break
					}
					want := before
					if committed {
						want = behind
					}
					if diff := cmp.Diff(want, after); diff != "" {
						t.Fatalf(
							"%s, killed at point %d, %q (-want +got):\n%s",
							move.name,
							point,
							parley.Clip(killedAt, 80),
							diff,
						)
					}
				}
				if !reached {
					t.Errorf("%s never reached its commit", move.name)
				}
				before = behind
			}
		})
	}
}

// TestKilledWhileRecovering kills the process that opens the database after a crash, at every statement of its
// recovery: opening again completes it.
func TestKilledWhileRecovering(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: every point opens a new store")
	}
	t.Parallel()
	made := newTemplate(t)
	for name, last := range map[string]int{"tools": 4, "cancel": 6, "release and recover": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			moves := scripts()[name]
			want, _, _ := made.run(t, moves, last, 0)
			for point, killed := 1, true; killed; point++ {
				dir, a := made.play(t, moves[:last], nil)
				if err := a.store.Close(); err != nil {
					t.Fatal(err)
				}
				count := 0
				killed = false
				dying, err := sqlite.Open(t.Context(), dir, sqlite.Options{Readers: 1, Fault: func(string) error {
					if count++; count == point {
						killed = true
						return errKilled
					}
					return nil
				}})
				if killed != (err != nil) {
					t.Fatalf("opening, killed (%t) at point %d, gives %v", killed, point, err)
				}
				if err == nil {
					if err := dying.Close(); err != nil {
						t.Fatal(err)
					}
				}
				store, err := sqlite.Open(t.Context(), dir, sqlite.Options{Readers: 1})
				if err != nil {
					t.Fatalf("opening again after a kill at point %d: %v", point, err)
				}
				got := tell(t, store, made.scope, a.session)
				if err := store.Close(); err != nil {
					t.Fatal(err)
				}
				// Opening twice after one crash may not count a second takeover.
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("killed at point %d of recovery (-want +got):\n%s", point, diff)
				}
			}
		})
	}
}

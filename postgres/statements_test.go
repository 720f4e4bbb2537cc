package postgres

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.org/parley"
	"example.org/parley/store"
)

// TestStatementsOfTurns counts the cost of the hot path: the round trips of a plain turn and of a turn with a tool, and
// the statements of each by kind and table. Every turn pays for each of them, so a statement that only some feature
// needs does not belong here.
func TestStatementsOfTurns(t *testing.T) {
	t.Parallel()
	var sent roundTrips
	store, url := opened(t)
	traced(t, store, url, &sent)
	talks := newTalker(t, store, 1)
	session := talks.sessions[0]
	talks.turn(session, "hello") // fills the caches of heads, agents and texts, and names the session
	post := "enter, UPDATE heads, UPDATE sessions, INSERT events, INSERT messages, INSERT turns"
	begin := "enter, UPDATE heads, INSERT events, INSERT messages, UPDATE turns, INSERT calls"
	finish := "enter, UPDATE heads, UPDATE sessions, INSERT events, UPDATE messages, UPDATE versions, UPDATE turns, " +
		"UPDATE calls"
	sent.forget()
	talks.turn(session, "hello")
	if diff := cmp.Diff([]string{post, begin, finish}, sent.all); diff != "" {
		t.Errorf("a plain turn (- want, + is):\n%s", diff)
	}
	sent.forget()
	if err := talks.toolTurn(session); err != nil {
		t.Fatal(err)
	}
	want := []string{
		post,
		begin,
		"enter, UPDATE heads, INSERT events, INSERT messages", // the call's row
		"enter, UPDATE heads, INSERT events, UPDATE messages, UPDATE messages, UPDATE versions, UPDATE turns, " +
			"UPDATE calls",
		"enter, UPDATE heads, INSERT events, INSERT messages", // the result
		begin,
		finish,
	}
	if diff := cmp.Diff(want, sent.all); diff != "" {
		t.Errorf("a turn with a tool (- want, + is):\n%s", diff)
	}
}

// traced replaces a store's pool by one that records what it sends.
func traced(t *testing.T, store *Store, url string, sent *roundTrips) {
	t.Helper()
	config, err := poolConfig(url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.Tracer = sent
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	store.pool.Close()
	store.pool = pool
}

// roundTrips records what a store sends, one line per batch.
type roundTrips struct {
	mu  sync.Mutex // guards all
	all []string
}

// touched finds a statement's first action and its table.
var touched = regexp.MustCompile(`(INSERT|UPDATE|DELETE|FROM|JOIN)( INTO| FROM)? parley\.([a-z_]+)`)

func (r *roundTrips) note(query string) {
	name := "enter"
	if strings.HasPrefix(query, "BEGIN") || query == "COMMIT" {
		return
	}
	if found := touched.FindStringSubmatch(query); found != nil {
		name = strings.NewReplacer("FROM", "SELECT", "JOIN", "SELECT").Replace(found[1]) + " " + found[3]
	} else if query != enterTenant && query != enterGroup && query != enterSystem {
		name, _, _ = strings.Cut(query, "(")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := len(r.all) - 1; r.all[last] == "" {
		r.all[last] = name
	} else {
		r.all[last] += ", " + name
	}
}

func (r *roundTrips) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, "")
}

func (r *roundTrips) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = nil
}

func (r *roundTrips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	r.begin()
	return ctx
}

func (r *roundTrips) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	r.note(data.SQL)
}

func (r *roundTrips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (r *roundTrips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	r.begin()
	r.note(data.SQL)
	return ctx
}

func (r *roundTrips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// toolTurn runs a turn whose first answer calls a tool.
func (t *talker) toolTurn(session parley.ID) error {
	posted, err := t.store.PostMessage(context.Background(), t.scope, session, t.said("hello"), t.process)
	if err != nil {
		return err
	}
	return t.callsTool(posted.Claim.Fence, nil)
}

// callsTool runs a claimed turn whose first answer calls a tool, which may send something to another agent.
func (t *talker) callsTool(fence store.Fence, send *parley.Sending) error {
	ctx, first := context.Background(), stepBegin(1)
	if _, err := t.store.BeginStep(ctx, fence, first); err != nil {
		return err
	}
	call := store.BlockOpen{
		MessageID:  parley.NewID(),
		Step:       1,
		Role:       parley.RoleToolCall,
		ToolCallID: "call_" + fence.TurnID.String(),
		ToolName:   "clock",
	}
	if _, err := t.store.OpenBlock(ctx, fence, call); err != nil {
		return err
	}
	content, err := parley.EncodeContent(
		parley.ToolCallContent{ID: call.ToolCallID, Name: call.ToolName, Arguments: []byte("{}")},
	)
	if err != nil {
		return err
	}
	settle, err := stepSettle(first, "")
	if err != nil {
		return err
	}
	settle.End, settle.ToolsStarted = nil, []string{call.ToolCallID}
	settle.Blocks = append(
		settle.Blocks,
		store.BlockSettled{
			MessageID: call.MessageID,
			Status:    parley.MessageCompleted,
			Content:   content,
			ToolName:  call.ToolName,
		},
	)
	if _, err := t.store.SettleStep(ctx, fence, settle); err != nil {
		return err
	}
	if content, err = parley.EncodeContent(
		parley.ToolResultContent{Result: []byte(`"noon"`), Success: true},
	); err != nil {
		return err
	}
	if _, err := t.store.SettleTool(ctx, fence, store.ToolSettle{
		MessageID: parley.NewID(), Step: 1, ToolCallID: call.ToolCallID, ToolName: call.ToolName, Content: content,
		Send: send,
	}); err != nil {
		return err
	}
	return t.answers(fence, 2, "It is noon.")
}

// answers runs the last step of a claimed turn.
func (t *talker) answers(fence store.Fence, step int, text string) error {
	begin := stepBegin(step)
	if _, err := t.store.BeginStep(context.Background(), fence, begin); err != nil {
		return err
	}
	settle, err := stepSettle(begin, text)
	if err != nil {
		return err
	}
	_, err = t.store.SettleStep(context.Background(), fence, settle)
	return err
}

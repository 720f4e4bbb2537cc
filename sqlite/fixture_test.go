package sqlite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/parley"
	"example.org/parley/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an open store with a workspace, an agent and a process.
type world struct {
	t       testing.TB
	dir     string
	store   *Store
	scope   store.Scope
	agent   parley.Agent
	owner   parley.Author
	process parley.ID
}

func newWorld(t testing.TB, options Options) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	w.open(options)
	ctx := context.Background()
	var err error
	if w.scope.WorkspaceID, err = w.store.Workspace(ctx, "default"); err != nil {
		t.Fatal(err)
	}
	w.owner = parley.Author{Kind: parley.AuthorPerson, ID: parley.NewID(), Name: "Ada"}
	w.agent, _, err = w.store.CreateAgent(
		ctx,
		parley.Agent{ID: parley.NewID(), WorkspaceID: w.scope.WorkspaceID, Slug: "writer", Name: "Writer",
			Status: parley.AgentActive, Version: 1, Runtime: parley.StandardRuntime, Tags: []string{}},
		store.Idempotency{},
	)
	if err != nil {
		t.Fatal(err)
	}
	w.register()
	return w
}

// open opens the directory (again); the test closes it.
func (w *world) open(options Options) {
	w.t.Helper()
	store, err := Open(context.Background(), w.dir, options)
	if err != nil {
		w.t.Fatal(err)
	}
	w.store = store
	w.t.Cleanup(func() {
		if err := store.Close(); err != nil {
			w.t.Error(err)
		}
	})
}

func (w *world) register() {
	w.t.Helper()
	w.process = parley.NewID()
	if err := w.store.RegisterProcess(
		context.Background(),
		store.Process{ID: w.process, Name: "test"},
		time.Minute,
	); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) session(change func(*parley.Session)) parley.Session {
	w.t.Helper()
	made := store.NewSession{
		Session: parley.Session{
			ID:          parley.NewID(),
			WorkspaceID: w.scope.WorkspaceID,
			AgentID:     w.agent.ID,
			OwnerID:     w.owner.ID,
			Visibility:  parley.VisibilityPrivate,
			Kind:        parley.KindAgent,
			Mode:        parley.ModeForeground,
		},
	}
	if change != nil {
		change(&made.Session)
	}
	opened, err := w.store.EnsureSession(context.Background(), w.scope, made, parley.ID{})
	if err != nil {
		w.t.Fatal(err)
	}
	return opened.Session
}

// said returns a user message that starts a turn.
func (w *world) said(text string) store.NewMessage {
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	if err != nil {
		w.t.Fatal(err)
	}
	return store.NewMessage{
		ID:      parley.NewID(),
		TurnID:  parley.NewID(),
		Role:    parley.RoleUser,
		Author:  w.owner,
		Content: content,
	}
}

func (w *world) post(session parley.ID, made store.NewMessage, claimBy parley.ID) store.Posted {
	w.t.Helper()
	posted, err := w.store.PostMessage(context.Background(), w.scope, session, made, claimBy)
	if err != nil {
		w.t.Fatal(err)
	}
	return posted
}

func stepBegin(step int) store.StepBegin {
	return store.StepBegin{
		Call: parley.Call{
			ID:             parley.NewID(),
			MessageID:      parley.NewID(),
			Step:           step,
			Attempt:        1,
			Model:          "sim/echo",
			EncoderVersion: 1,
			SystemHash:     parley.HashOf([]byte("be kind")),
			RequestHash:    parley.HashOf([]byte("request")),
			Manifest: parley.Manifest{
				Policy: "all",
				Ranges: []parley.ManifestRange{{From: 1, To: int64(step), Reason: "all"}},
			},
		},
		System: "be kind",
		Author: parley.Author{Kind: parley.AuthorAgent, Name: "Writer"},
	}
}

func stepSettle(begin store.StepBegin, text string, end *store.TurnEnd) store.StepSettle {
	content, err := parley.EncodeContent(parley.AssistantContent{Text: text})
	if err != nil {
		panic(fmt.Sprint("encoding text: ", err))
	}
	in, out, ms := int64(10), int64(20), int64(30)
	usage := parley.Usage{InputTokens: &in, OutputTokens: &out}
	cost := parley.Money(1000)
	return store.StepSettle{
		Step: begin.Call.Step,
		Call: store.CallSettled{
			CallID:       begin.Call.ID,
			Outcome:      parley.CallCompleted,
			Usage:        usage,
			Cost:         &cost,
			Finish:       parley.FinishStop,
			FirstTokenMS: &ms,
			TotalMS:      &ms,
		},
		Blocks: []store.BlockSettled{
			{
				MessageID:     begin.Call.MessageID,
				Status:        parley.MessageCompleted,
				Content:       content,
				Usage:         &usage,
				TokenEstimate: 20,
				Chunks:        20,
			},
		},
		End: end,
	}
}

var completed = &store.TurnEnd{Status: parley.TurnCompleted}

// plainTurn runs one turn in its three transactions.
func (w *world) plainTurn(session parley.ID, text string) parley.Turn {
	w.t.Helper()
	ctx := context.Background()
	posted := w.post(session, w.said("hello"), w.process)
	if posted.Claim == nil {
		w.t.Fatal("the post was not claimed")
	}
	begin := stepBegin(1)
	if _, err := w.store.BeginStep(ctx, posted.Claim.Fence, begin); err != nil {
		w.t.Fatal(err)
	}
	settled, err := w.store.SettleStep(ctx, posted.Claim.Fence, stepSettle(begin, text, completed))
	if err != nil {
		w.t.Fatal(err)
	}
	return settled.Turn
}

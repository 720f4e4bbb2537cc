package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/internal/pgtest"
	"example.org/parley/store"
)

// talker is a workspace with sessions whose turns one process runs.
type talker struct {
	tb       testing.TB
	store    *Store
	scope    store.Scope
	owner    parley.Author
	process  parley.ID
	sessions []parley.ID
}

func newTalker(tb testing.TB, store *Store, sessions int) *talker {
	tb.Helper()
	return newTalkerIn(tb, store, "default", sessions)
}

func newTalkerIn(tb testing.TB, db *Store, workspace string, sessions int) *talker {
	tb.Helper()
	ctx := context.Background()
	t := &talker{
		tb:      tb,
		store:   db,
		owner:   parley.Author{Kind: parley.AuthorPerson, ID: parley.NewID(), Name: "Ada"},
		process: parley.NewID(),
	}
	var err error
	if t.scope.WorkspaceID, err = db.Workspace(ctx, workspace); err != nil {
		tb.Fatal(err)
	}
	agent, err := db.Agent(ctx, t.scope.WorkspaceID, parley.BuiltinAgentSlug)
	if err != nil {
		tb.Fatal(err)
	}
	if err := db.RegisterProcess(ctx, store.Process{ID: t.process, Name: "test"}, time.Hour); err != nil {
		tb.Fatal(err)
	}
	for range sessions {
		made := parley.Session{
			ID:          parley.NewID(),
			WorkspaceID: t.scope.WorkspaceID,
			AgentID:     agent.ID,
			OwnerID:     t.owner.ID,
			Visibility:  parley.VisibilityPrivate,
			Kind:        parley.KindAgent,
			Mode:        parley.ModeForeground,
		}
		if _, err := db.EnsureSession(ctx, t.scope, store.NewSession{Session: made}, parley.ID{}); err != nil {
			tb.Fatal(err)
		}
		t.sessions = append(t.sessions, made.ID)
	}
	return t
}

// said returns a user message that starts a turn.
func (t *talker) said(text string) store.NewMessage {
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	if err != nil {
		t.tb.Error(err)
	}
	return store.NewMessage{
		ID:      parley.NewID(),
		TurnID:  parley.NewID(),
		Role:    parley.RoleUser,
		Author:  t.owner,
		Content: content,
	}
}

// turn runs one turn in its three transactions.
func (t *talker) turn(session parley.ID, text string) {
	if err := t.try(session, text); err != nil {
		t.tb.Error(err)
	}
}

func (t *talker) try(session parley.ID, text string) error {
	ctx := context.Background()
	posted, err := t.store.PostMessage(ctx, t.scope, session, t.said("hello"), t.process)
	if err != nil {
		return fmt.Errorf("PostMessage: %w", err)
	}
	if posted.Claim == nil {
		return errors.New("the post was not claimed")
	}
	begin := stepBegin(1)
	if _, err := t.store.BeginStep(ctx, posted.Claim.Fence, begin); err != nil {
		return fmt.Errorf("BeginStep: %w", err)
	}
	settle, err := stepSettle(begin, text)
	if err != nil {
		return err
	}
	if _, err := t.store.SettleStep(ctx, posted.Claim.Fence, settle); err != nil {
		return fmt.Errorf("SettleStep: %w", err)
	}
	return nil
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
				Ranges: []parley.ManifestRange{{From: 1, To: 1, Reason: "all"}},
			},
		},
		System: "be kind",
		Author: parley.Author{Kind: parley.AuthorAgent, Name: "Writer"},
	}
}

// stepSettle settles a step with a text, and ends its turn.
func stepSettle(begin store.StepBegin, text string) (store.StepSettle, error) {
	content, err := parley.EncodeContent(parley.AssistantContent{Text: text})
	in, out, ms := int64(10), int64(20), int64(30)
	usage, cost := parley.Usage{InputTokens: &in, OutputTokens: &out}, parley.Money(1000)
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
		End: &store.TurnEnd{Status: parley.TurnCompleted},
	}, err
}

// BenchmarkTurn runs one plain turn of three transactions on a durable server, from one caller and from 64, each with
// its own sessions. cpu-µs/op is the use of this process, pg-µs/op that of the server.
func BenchmarkTurn(b *testing.B) {
	durable := pgtest.NewDatabases(pgtest.Options{Durable: true}, func(ctx context.Context, url string) error {
		_, err := Migrate(ctx, url, slog.New(slog.DiscardHandler))
		return err
	})
	b.Cleanup(func() {
		if err := durable.Close(); err != nil {
			b.Error(err)
		}
	})
	text := strings.Repeat("word ", 200)
	for _, callers := range []int{1, 64} {
		b.Run(strconv.Itoa(callers), func(b *testing.B) {
			t := newTalker(b, openedAt(b, durable.New(b), Options{}), 64)
			for i := range 200 {
				t.turn(t.sessions[i%len(t.sessions)], text)
			}
			b.ReportAllocs()
			b.ResetTimer()
			mine, servers := processorTime(b), serverTime(b, durable.Cluster(b))
			var wait sync.WaitGroup
			for caller := range callers {
				wait.Go(func() {
					for i := caller; i < b.N; i += callers {
						t.turn(t.sessions[i%len(t.sessions)], text)
					}
				})
			}
			wait.Wait()
			b.ReportMetric(float64((processorTime(b)-mine).Microseconds())/float64(b.N), "cpu-µs/op")
			b.ReportMetric(float64((serverTime(b, durable.Cluster(b))-servers).Microseconds())/float64(b.N), "pg-µs/op")
		})
	}
}

// processorTime returns the processor time that this process has used.
func processorTime(tb testing.TB) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// serverTime returns the processor time of a cluster's live processes, which are those whose working directory is its
// data directory.
func serverTime(tb testing.TB, cluster *pgtest.Cluster) (sum time.Duration) {
	tb.Helper()
	const tick = 10 * time.Millisecond // of /proc
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		tb.Fatal(err)
	}
	for _, process := range processes {
		if dir, err := os.Readlink(process + "/cwd"); err != nil || !strings.HasPrefix(dir, cluster.Dir()) {
			continue
		}
		stat, err := os.ReadFile(process + "/stat")
		if err != nil {
			continue // it ended meanwhile
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		for _, field := range strings.Fields(rest)[11:13] { // utime and stime
			ticks, err := strconv.Atoi(field)
			if err != nil {
				tb.Fatal(err)
			}
			sum += time.Duration(ticks) * tick
		}
	}
	return sum
}

package sqlite

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// A request that appends nothing new to a long message, or settles it otherwise than it was shown, reads little of it:
// the writer, for which everybody waits, would spend its time on it.
func TestWhatChangesNothingOfALongMessageReadsLittle(t *testing.T) {
	w := newWorld(t, Options{})
	ctx := context.Background()
	opened, err := w.store.EnsureSession(ctx, w.scope, store.NewSession{Session: parley.Session{
		ID: parley.NewID(), WorkspaceID: w.scope.WorkspaceID, AgentID: w.agent.ID, OwnerID: w.owner.ID,
		Visibility: parley.VisibilityPrivate, Kind: parley.KindAgent, Mode: parley.ModeForeground,
	}}, parley.ID{})
	if err != nil {
		t.Fatal(err)
	}
	message := parley.NewID()
	if _, err := w.store.PostMessage(ctx, w.scope, opened.Session.ID, store.NewMessage{
		ID: message, TurnID: parley.NewID(), Role: parley.RoleAssistant, Author: w.owner,
		Content: parley.EmptyContent(), Streaming: true, Timeout: time.Hour,
	}, parley.ID{}); err != nil {
		t.Fatal(err)
	}
	const piece, pieces = 512 << 10, 24
	for i := range pieces {
		if _, err := w.store.AppendOutside(ctx, w.scope, message, store.OutsideAppend{
			Kind: parley.KindText, Offset: i * piece, Text: strings.Repeat(string(rune('a'+i)), piece),
		}); err != nil {
			t.Fatal(err)
		}
	}
	conflicts := func(text string) func() error {
		return func() error {
			_, err := w.store.AppendOutside(
				ctx,
				w.scope,
				message,
				store.OutsideAppend{Kind: parley.KindText, Text: text},
			)
			return err
		}
	}
	reads := func(what string, code parley.Code, ask func() error) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := ask(); parley.ErrorCode(err) != code {
			t.Errorf("%s: %v", what, err)
		}
		runtime.ReadMemStats(&after)
		if read := after.TotalAlloc - before.TotalAlloc; read > 4*piece {
			t.Errorf("%s of a message of %d bytes allocates %d", what, pieces*piece, read)
		}
	}
	reads("a repeated append", "", func() error {
		_, err := w.store.AppendOutside(ctx, w.scope, message, store.OutsideAppend{
			Kind: parley.KindText, Offset: 5*piece - 1, Text: "ef",
		})
		return err
	})
	reads("a different append", parley.CodeConflict, conflicts("x"))
	reads("a settle with another text", parley.CodeInvalid, func() error {
		_, err := w.store.SettleOutside(ctx, w.scope, message, store.OutsideSettle{
			Status: parley.MessageCompleted, Content: json.RawMessage(`{"text":"x"}`),
		})
		return err
	})
	if _, err := w.store.SettleOutside(ctx, w.scope, message, store.OutsideSettle{
		Status: parley.MessageCompleted,
	}); err != nil {
		t.Fatal(err)
	}
	reads("an append to what is settled", parley.CodeConflict, conflicts("a"))
	reads("another settle", parley.CodeConflict, func() error {
		_, err := w.store.SettleOutside(ctx, w.scope, message, store.OutsideSettle{Status: parley.MessageCancelled})
		return err
	})
}

package sqlite

import (
	"context"
	"path/filepath"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// asFirstVersion turns a session's record into what a program before the second chain version left.
func (w *world) asFirstVersion(session parley.ID) {
	w.t.Helper()
	if err := w.store.write(context.Background(), func(tx *txn) error {
		record, err := readMessages(tx.conn, "m.log_id = ? AND m.sequence IS NOT NULL ORDER BY m.sequence", session)
		if err != nil {
			return err
		}
		var last parley.Hash
		for i := range record {
			m := &record[i]
			m.ChainVersion = parley.ChainVersion1
			if last, err = parley.ChainHash(last, m.ChainInput()); err != nil {
				return err
			}
			if _, err := tx.exec(
				"UPDATE messages SET chain_version = 1, content_hash = ? WHERE id = ?",
				last,
				m.ID,
			); err != nil {
				return err
			}
		}
		_, err = tx.exec("UPDATE heads SET last_hash = ? WHERE log_id = ?", last, session)
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
}

// TestFirstChainVersionContinuesUnderTheSecond covers the session itself, a fork of it, and a backup of both;
// old rows stay unchanged.
func TestFirstChainVersionContinuesUnderTheSecond(t *testing.T) {
	w := newWorld(t, Options{})
	session := w.session(nil)
	w.plainTurn(session.ID, "the old answer")
	w.asFirstVersion(session.LogID)
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	w.open(Options{})
	w.register()
	before := w.record(session.ID)
	w.plainTurn(session.ID, "the new answer")
	forked, err := w.store.Fork(
		context.Background(),
		w.scope,
		store.NewFork{Sequence: before[len(before)-1].Sequence, Session: parley.Session{
			ID:              parley.NewID(),
			WorkspaceID:     w.scope.WorkspaceID,
			AgentID:         w.agent.ID,
			OwnerID:         w.owner.ID,
			ParentSessionID: session.ID,
			Visibility:      parley.VisibilityPrivate,
			Kind:            parley.KindAgent,
			Mode:            parley.ModeForeground,
		}},
		parley.ID{},
	)
	if err != nil {
		t.Fatal(err)
	}
	w.plainTurn(forked.Session.ID, "another answer")
	for _, id := range []parley.ID{session.ID, forked.Session.ID} {
		for i, m := range w.record(id) {
			want := parley.ChainVersion
			if i < len(before) {
				if want = parley.ChainVersion1; m.ContentHash != before[i].ContentHash {
					t.Errorf("message %d of the first version was rewritten", m.Sequence)
				}
			}
			if m.ChainVersion != want {
				t.Errorf("message %d is of version %d; want %d", m.Sequence, m.ChainVersion, want)
			}
		}
	}
	if _, err := Backup(context.Background(), w.dir, filepath.Join(t.TempDir(), "backup.db"), nil); err != nil {
		t.Error(err)
	}
}

func (w *world) record(session parley.ID) []parley.Message {
	w.t.Helper()
	rows, err := w.store.Messages(
		context.Background(),
		w.scope,
		session,
		store.MessageQuery{RecordOnly: true, Limit: parley.MaxPage},
	)
	if err != nil {
		w.t.Fatal(err)
	}
	return rows
}

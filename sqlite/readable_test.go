package sqlite

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley/store"
)

// TestUnreadableRowsDoNotBreakLists corrupts the JSON of stored messages, as somebody with a database tool might, and
// lists them (A15).
func TestUnreadableRowsDoNotBreakLists(t *testing.T) {
	t.Parallel()
	db := opened(t)
	scope, session := filled(t, db, 6)
	spoil := map[int]string{
		1: `content = '{"text":"half of'`,
		2: `usage = '{"input_tokens":', metadata = '[1'`,
		3: `content = 'plain', role = 'tool_result'`,
		4: `content = '"a string"', role = 'tool_call', error = '{{'`,
		5: `overrides = 'x', error = 'y', context_note = 'kept'`,
	}
	if err := db.write(t.Context(), func(tx *txn) error {
		for sequence, set := range spoil {
			if _, err := tx.exec(
				"UPDATE messages SET "+set+" WHERE session_id = ? AND sequence = ?",
				session,
				sequence,
			); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	messages, err := db.Messages(t.Context(), scope, session, store.MessageQuery{})
	if err != nil || len(messages) != 6 {
		t.Fatalf("%d messages, %v; want all 6", len(messages), err)
	}
	if _, err := json.Marshal(messages); err != nil {
		t.Errorf("the list cannot be encoded: %v", err)
	}
	type shown struct {
		Content  string
		Failed   bool
		Metadata string
		Usage    bool
		Note     string
	}
	var got []shown
	for _, m := range messages {
		content := string(m.Content)
		if m.Sequence == 2 || m.Sequence == 5 || m.Sequence == 6 {
			content = "as stored"
		}
		got = append(got, shown{content, m.Error != nil, string(m.Metadata), m.Usage != nil, m.ContextNote})
	}
	want := []shown{
		{`{"text":"{\"text\":\"half of"}`, true, "{}", false, ""},
		{"as stored", false, "{}", false, ""},
		{`{"error":"plain","execution_time_ms":null,"parts":[],"success":false}`, true, "{}", true, ""},
		{`{"arguments":null,"arguments_text":"\"a string\"","id":"","name":""}`, true, "{}", false, ""},
		{"as stored", true, "{}", true, "kept"},
		{"as stored", false, "{}", true, ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, m := range messages {
		alone, err := db.Message(t.Context(), scope, m.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, alone); diff != "" {
			t.Errorf("message %d alone differs from the list (-list +alone):\n%s", m.Sequence, diff)
		}
		if _, err := db.Versions(t.Context(), scope, m.ID); err != nil {
			t.Errorf("versions of message %d: %v", m.Sequence, err)
		}
	}
}

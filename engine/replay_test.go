package engine

import (
	"context"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/internal/inflight"
	"example.org/parley/store"
)

// inPages is a record whose every row is a page of its own, as long ones are.
type inPages struct {
	store.Store
	rows []parley.Message
}

func (s inPages) Messages(
	_ context.Context,
	_ store.Scope,
	_ parley.ID,
	query store.MessageQuery,
) (page []parley.Message, err error) {
	for i := range s.rows {
		if s.rows[i].Sequence > query.AfterSequence && (len(page) == 0 || query.MaxBytes != readingPage) {
			page = append(page, s.rows[i])
		}
	}
	return page, nil
}

// TestARecordedAnswerIsReadByPages, and counts like all that a replay reads.
func TestARecordedAnswerIsReadByPages(t *testing.T) {
	t.Parallel()
	const room = readingsHold / 2
	call := parley.Call{ID: parley.NewID(), TurnID: parley.NewID(), Step: 2}
	text := strings.Repeat("word ", room/2/len("word "))
	var rows []parley.Message
	for i, step := range []int{1, 2, 2, 3} {
		content, err := parley.EncodeContent(parley.AssistantContent{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, parley.Message{
			Sequence: int64(i + 1), Role: parley.RoleAssistant, Step: step, Content: content,
		})
	}
	e := &Engine{readings: inflight.NewBytes(readingsHold, 0), store: inPages{rows: rows}}
	scope := store.Scope{WorkspaceID: parley.NewID()}
	for before, want := range map[int]parley.Code{0: "", room: parley.CodeRateLimited} {
		ctx, done := e.reads(t.Context(), scope)
		beside, doneBeside := e.reads(t.Context(), scope)
		if err := countRead(beside, before); err != nil {
			t.Fatal(err)
		}
		answer, err := e.answerOf(ctx, scope, &call)
		if parley.ErrorCode(err) != want || want == "" && answer.Text != text+text {
			t.Errorf("beside %d bytes: %d bytes of text, %v; want %q", before, len(answer.Text), err, want)
		}
		done()
		doneBeside()
	}
}

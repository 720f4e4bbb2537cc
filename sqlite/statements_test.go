package sqlite

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

// TestStatementsOfTurns counts the cost of the hot path: the statements of each transition of a plain turn and of a
// turn with a tool, by kind and table. Every turn pays for each of them, so a statement that only some feature needs
// does not belong here.
func TestStatementsOfTurns(t *testing.T) {
	var seen []string
	w := newWorld(t, Options{Fault: func(point string) error {
		seen = append(seen, point)
		return nil
	}})
	session := w.session(nil).ID
	w.plainTurn(session, "hello") // fills the caches, and names the session
	post := "INSERT events, INSERT messages, INSERT turns, UPDATE heads, UPDATE sessions"
	begin := "INSERT calls, INSERT events, INSERT messages, UPDATE heads, UPDATE turns"
	finish := "INSERT events, UPDATE calls, UPDATE heads, UPDATE messages, UPDATE sessions, UPDATE turns, " +
		"UPDATE versions"
	seen = nil
	w.plainTurn(session, "hello")
	if diff := cmp.Diff([]string{post, begin, finish}, transactions(seen)); diff != "" {
		t.Errorf("a plain turn (- want, + is):\n%s", diff)
	}
	seen = nil
	w.toolTurn(session)
	want := []string{
		post,
		begin,
		"INSERT events, INSERT messages, UPDATE heads", // the call's row
		"INSERT events, UPDATE calls, UPDATE heads, UPDATE messages, UPDATE messages, UPDATE turns, UPDATE versions, " +
			"UPDATE versions",
		"INSERT events, INSERT messages, UPDATE heads", // the result
		begin,
		finish,
	}
	if diff := cmp.Diff(want, transactions(seen)); diff != "" {
		t.Errorf("a turn with a tool (- want, + is):\n%s", diff)
	}
}

// transactions lists the writer's statements, one line per commit, sorted.
func transactions(seen []string) (all []string) {
	var current []string
	for _, statement := range seen {
		words := strings.Fields(statement)
		switch words[0] {
		case "BEGIN", "before", "after":
		case "COMMIT":
			slices.Sort(current)
			all, current = append(all, strings.Join(current, ", ")), nil
		case "SELECT", "DELETE", "INSERT":
			at := 2 // DELETE FROM
			for words[0] != "DELETE" && words[at-1] != "FROM" && words[at-1] != "INTO" {
				at++
			}
			current = append(current, words[0]+" "+words[at])
		default:
			current = append(current, words[0]+" "+words[1])
		}
	}
	return all
}

// toolTurn runs a turn whose first answer calls a tool.
func (w *world) toolTurn(session parley.ID) {
	w.t.Helper()
	ctx := context.Background()
	posted := w.post(session, w.said("hello"), w.process)
	fence, first, second := posted.Claim.Fence, stepBegin(1), stepBegin(2)
	_, err := w.store.BeginStep(ctx, fence, first)
	w.must(err)
	call := store.BlockOpen{
		MessageID:  parley.NewID(),
		Step:       1,
		Role:       parley.RoleToolCall,
		ToolCallID: "call_" + fence.TurnID.String(),
		ToolName:   "clock",
	}
	_, err = w.store.OpenBlock(ctx, fence, call)
	w.must(err)
	content, err := parley.EncodeContent(
		parley.ToolCallContent{ID: call.ToolCallID, Name: call.ToolName, Arguments: []byte("{}")},
	)
	w.must(err)
	settle := stepSettle(first, "", nil)
	settle.Blocks = append(
		settle.Blocks,
		store.BlockSettled{
			MessageID: call.MessageID,
			Status:    parley.MessageCompleted,
			Content:   content,
			ToolName:  call.ToolName,
		},
	)
	settle.ToolsStarted = []string{call.ToolCallID}
	_, err = w.store.SettleStep(ctx, fence, settle)
	w.must(err)
	content, err = parley.EncodeContent(parley.ToolResultContent{Result: []byte(`"noon"`), Success: true})
	w.must(err)
	_, err = w.store.SettleTool(ctx, fence, store.ToolSettle{
		MessageID: parley.NewID(), Step: 1, ToolCallID: call.ToolCallID, ToolName: call.ToolName, Content: content,
	})
	w.must(err)
	_, err = w.store.BeginStep(ctx, fence, second)
	w.must(err)
	_, err = w.store.SettleStep(ctx, fence, stepSettle(second, "It is noon.", completed))
	w.must(err)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

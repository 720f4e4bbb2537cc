package conversation_test

import (
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// TestDraft: a program's own agent streams its message, breaks off, and continues where the record ends.
func TestDraft(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	home := newHome(t)
	chat := open(t, home, engine.SessionInput{})
	draft, err := chat.Draft(ctx, "mine/one")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{draft.Reason(ctx, "Hm. "), draft.Reason(ctx, "Yes."), draft.Write(ctx, "Grüße ")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := chat.Draft(ctx, ""); parley.ErrorCode(err) != parley.CodeBusy {
		t.Errorf("a second draft: %v", err)
	}
	again, err := chat.Redraft(ctx, draft.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Write(ctx, "aus Ulm."); err != nil {
		t.Fatal(err)
	}
	if err := draft.Write(ctx, "from elsewhere"); parley.ErrorCode(err) != parley.CodeConflict {
		t.Errorf("writing where the text no longer ends: %v", err)
	}
	settled, err := again.Settle(ctx, engine.SettleInput{Status: parley.MessageCompleted})
	if err != nil ||
		string(
			settled.Message.Content,
		) != `{"parts":[{"text":"Hm. Yes.","type":"reasoning"},{"text":"Grüße aus Ulm.","type":"text"}]}` {
		t.Errorf("settled %s, %v", settled.Message.Content, err)
	}
	if _, err := chat.Redraft(ctx, draft.ID); parley.ErrorCode(err) != parley.CodeConflict {
		t.Errorf("continuing a settled one: %v", err)
	}
	other := open(t, home, engine.SessionInput{})
	if err := chat.ShareWith(ctx, other.ID); err != nil {
		t.Error(err)
	}
	if err := chat.UnshareWith(ctx, other.ID); err != nil {
		t.Error(err)
	}
}

// TestDraftAcrossProcesses: text appended through one process is watched on both, as is its cancel.
func TestDraftAcrossProcesses(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	one, two := newProcess(t, url, runs|hears), newProcess(t, url, hears)
	deaf := newProcess(t, url, 0)
	session := one.open("sim/echo")
	here, there, nowhere := one.watch(session), two.watch(session), deaf.watch(session)
	posted, err := one.engine.PostMessage(
		t.Context(),
		one.owner,
		session,
		engine.MessageInput{Role: parley.RoleAssistant, Status: parley.MessageStreaming},
		store.Idempotency{},
	)
	one.must(err)
	id, text := posted.Message.ID, ""
	for i := range 40 {
		piece := fmt.Sprintf("%d, ", i)
		if i == 20 {
			piece = strings.Repeat("a long piece, ", 4000) // larger than a notification
		}
		by := []*process{one, two}[i%2]
		_, err := by.engine.AppendMessage(
			t.Context(),
			by.owner,
			id,
			engine.AppendInput{Offset: len(text), Text: &piece},
		)
		by.must(err)
		text += piece
	}
	for _, v := range []*viewer{here, there} {
		v.until("all of the text", func() bool { return v.texts[id] == text })
	}
	late := two.watch(session)
	late.until("the text so far", func() bool { return late.texts[id] == text })
	_, err = two.engine.SettleMessage(t.Context(), two.owner, id, engine.SettleInput{Status: parley.MessageCompleted})
	two.must(err)
	for _, v := range []*viewer{here, there, late, nowhere} {
		v.until("the end", func() bool { return v.ended != "" })
		v.isRecord(session)
	}
}

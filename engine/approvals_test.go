package engine_test

import (
	"encoding/json"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// asked makes a session's turn wait for an approval, as a worker does.
func (h *house) asked(t *testing.T, sessionID parley.ID) parley.ID {
	t.Helper()
	ctx, scope := t.Context(), store.Scope{WorkspaceID: h.admin.WorkspaceID}
	process := parley.NewID()
	must(t, h.store.RegisterProcess(ctx, store.Process{ID: process, Name: "test"}, time.Hour))
	content, err := parley.EncodeContent(parley.UserContent{Text: "Go"})
	must(t, err)
	posted, err := h.store.PostMessage(
		ctx,
		scope,
		sessionID,
		store.NewMessage{ID: parley.NewID(), TurnID: parley.NewID(), Role: parley.RoleUser,
			Author: h.member.Author(), Content: content},
		process,
	)
	must(t, err)
	fence := posted.Claim.Fence
	call, message, approval := parley.NewID(), parley.NewID(), parley.NewID()
	begin := store.StepBegin{
		Call: parley.Call{
			ID:             call,
			MessageID:      parley.NewID(),
			Step:           1,
			Attempt:        1,
			Model:          "sim/echo",
			EncoderVersion: 1,
		},
	}
	_, err = h.store.BeginStep(ctx, fence, begin)
	must(t, err)
	_, err = h.store.OpenBlock(
		ctx,
		fence,
		store.BlockOpen{
			MessageID:  message,
			Step:       1,
			Role:       parley.RoleToolCall,
			Model:      "sim/echo",
			ToolCallID: "c1",
			ToolName:   "act",
		},
	)
	must(t, err)
	_, err = h.store.SettleStep(ctx, fence, store.StepSettle{
		Step: 1, Call: store.CallSettled{CallID: call, Outcome: parley.CallCompleted, Finish: parley.FinishToolCalls},
		Blocks: []store.BlockSettled{
			{MessageID: begin.Call.MessageID, Status: parley.MessageCompleted, Content: json.RawMessage(`{"text":""}`)},
			{
				MessageID: message,
				Status:    parley.MessageCompleted,
				ToolName:  "act",
				Content:   json.RawMessage(`{"arguments":{"n":1},"id":"c1","name":"act"}`),
			},
		},
		Asked: []store.Ask{{ApprovalID: approval, ToolCallID: "c1", Timeout: time.Hour}},
	})
	must(t, err)
	_, err = h.store.ParkTurn(ctx, fence, parley.WaitApproval)
	must(t, err)
	return approval
}

func TestDecideChecksItsInput(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	approval := h.asked(t, h.open(t, engine.SessionInput{}).ID)
	for field, input := range map[string]engine.DecisionInput{
		"decision": {Decision: "perhaps"},
		"scope":    {Decision: parley.DecideApprove, Scope: "ever"},
		"covers":   {Decision: parley.DecideApprove, Scope: parley.ScopeSession, Covers: "all"},
		"comment":  {Decision: parley.DecideDeny, Comment: string(make([]byte, parley.MaxApprovalComment+1))},
	} {
		_, err := h.Decide(t.Context(), h.member, approval, input)
		wantCode(t, err, parley.CodeInvalid, field)
	}
	_, err := h.Decide(
		t.Context(),
		h.member,
		approval,
		engine.DecisionInput{Decision: parley.DecideDeny, Scope: parley.ScopeSession},
	)
	wantCode(t, err, parley.CodeInvalid, "scope")
	_, err = h.Decide(
		t.Context(),
		h.member,
		approval,
		engine.DecisionInput{Decision: parley.DecideApprove, Covers: parley.CoversTool},
	)
	wantCode(t, err, parley.CodeInvalid, "covers")
	if a, err := h.Approval(t.Context(), h.member, approval); err != nil || a.State != parley.ApprovalPending {
		t.Errorf("the approval is %+v, %v", a, err)
	}
}

func TestGrantsAreNotSetOnMessages(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	session := h.open(t, engine.SessionInput{})
	content := json.RawMessage(`{"text":"Go"}`)
	for field, overrides := range map[string]parley.Settings{
		"grants":           {Grants: &[]parley.Grant{{Tool: "*", Effect: parley.GrantAllow}}},
		"approval_timeout": {ApprovalTimeout: new(5)},
	} {
		_, err := h.PostMessage(
			t.Context(),
			h.member,
			session.ID,
			engine.MessageInput{Role: parley.RoleUser, Content: content, Settings: overrides},
			store.Idempotency{},
		)
		wantCode(t, err, parley.CodeInvalid, field)
	}
	bad := []parley.Grant{{Tool: "*", Effect: "perhaps"}}
	_, err := h.UpdateSession(
		t.Context(),
		h.member,
		session.ID,
		engine.SessionPatch{
			SettingsPatch: parley.SettingsPatch{Grants: parley.Change[*[]parley.Grant]{Set: true, Value: &bad}},
		},
	)
	wantCode(t, err, parley.CodeInvalid, "grants.effect")
	_, err = h.UpdateSession(
		t.Context(),
		h.member,
		session.ID,
		engine.SessionPatch{
			SettingsPatch: parley.SettingsPatch{ApprovalTimeout: parley.Change[*int]{Set: true, Value: new(-1)}},
		},
	)
	wantCode(t, err, parley.CodeInvalid, "approval_timeout")
	_, _, err = h.CreateAgent(
		t.Context(),
		h.member,
		engine.AgentInput{Name: "x", Settings: parley.Settings{Grants: new(bad)}},
		store.Idempotency{},
	)
	wantCode(t, err, parley.CodeInvalid, "grants.effect")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

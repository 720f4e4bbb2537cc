package worker

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// granted returns overrides that name tools of the server and give all of them the same effect.
func granted(effect parley.GrantEffect, names ...string) parley.Settings {
	overrides := tooled(names...)
	overrides.Grants = &[]parley.Grant{{Tool: "*", Effect: effect}}
	return overrides
}

// counting returns a tool that counts its runs.
func counting(name string, annotations parley.ToolAnnotations, runs *atomic.Int32) fakeTool {
	return fakeTool{name, annotations, func(context.Context, tool.Call) (json.RawMessage, error) {
		runs.Add(1)
		return json.RawMessage(`"done"`), nil
	}}
}

func destructive() parley.ToolAnnotations { return parley.ToolAnnotations{Destructive: true} }

// questions lists the approvals of a session, oldest first.
func (r *rig) questions(sessionID parley.ID) []parley.Approval {
	r.Helper()
	found, err := r.store.Approvals(
		r.Context(),
		r.scope,
		store.ApprovalQuery{SessionID: sessionID, Ascending: true, Limit: 100},
	)
	r.must(err)
	return found
}

// waits waits until a turn waits for the given reason and no process holds it.
func (r *rig) waits(sessionID parley.ID, reason parley.WaitReason, nth int) {
	r.Helper()
	seen := 0
	r.await(sessionID, "waiting for "+string(reason), func(e parley.Event) bool {
		if e.Type == parley.EventSessionWaiting && strings.Contains(string(e.Data), `"reason":"`+string(reason)+`"`) {
			seen++
		}
		return seen == nth
	})
	r.idleSlots(r.worker)
}

// decide answers an approval the way the engine does.
func (r *rig) decide(id parley.ID, decision parley.Decision) {
	r.Helper()
	decision.By = r.owner.Author()
	var process parley.ID
	slot, ok := r.worker.Offer(r.scope.WorkspaceID)
	if ok {
		process = slot.ProcessID()
	}
	decided, err := r.store.DecideApproval(r.Context(), r.scope, id, decision, process)
	r.must(err)
	switch {
	case ok && decided.Claim != nil:
		slot.Run(*decided.Claim)
	case ok:
		slot.Release()
	}
}

// replies posts a client's result for the call of a tool.
func (r *rig) replies(sessionID parley.ID, tool, result string) {
	r.Helper()
	content, err := parley.ValidateContent(parley.RoleToolResult, json.RawMessage(`{"result":`+result+`}`))
	r.must(err)
	for _, m := range r.messages(sessionID) {
		if m.Role == parley.RoleToolCall && m.ToolName == tool {
			_, err = r.postNew(
				sessionID,
				store.NewMessage{
					ID:         parley.NewID(),
					Role:       parley.RoleToolResult,
					Author:     r.owner.Author(),
					Content:    content,
					ToolCallID: m.ToolCallID,
				},
			)
			r.must(err)
			return
		}
	}
	r.Fatalf("there is no call of %s", tool)
}

var (
	yes = parley.Decision{Decision: parley.DecideApprove}
	no  = parley.Decision{Decision: parley.DecideDeny, Comment: "not on Fridays"}
)

func TestAskedCallsWaitForTheirAnswer(t *testing.T) {
	for _, c := range []struct {
		name     string
		tool     parley.ToolAnnotations
		set      parley.Settings
		decision parley.Decision
		runs     int32
		result   string
	}{
		{"a yes", destructive(), tooled("act"), yes, 1, `"done"`},
		{"a no", destructive(), tooled("act"), no, 0, "Denied by " + "%" + ": not on Fridays"},
		{"a no without a comment", destructive(), tooled("act"), parley.Decision{Decision: parley.DecideDeny}, 0,
			"Denied by %."},
		{"a harmless tool with an ask rule", readOnly(), granted(parley.GrantAsk, "act"), yes, 1, `"done"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			var runs atomic.Int32
			r.tools = fakeTools{counting("act", c.tool, &runs)}
			r.start(nil)
			r.model.play(calls(parley.FinishToolCalls, "act", `{"b":1,"a":2}`), says("Done."))
			sessionID := r.session(c.set, nil)
			turnID := r.post(sessionID, "Go", "").Turn.ID
			r.waits(sessionID, parley.WaitApproval, 1)
			asked := r.questions(sessionID)
			if len(asked) != 1 || asked[0].ToolName != "act" || string(asked[0].Arguments) != `{"a":2,"b":1}` ||
				runs.Load() != 0 {
				t.Fatalf("asked %+v with %d runs", asked, runs.Load())
			}
			if got := asked[0].ExpiresAt - asked[0].CreatedAt; got != parley.DefaultApprovalTimeout*1000 {
				t.Errorf("its time is %d ms", got)
			}
			r.decide(asked[0].ID, c.decision)
			if turn := r.ended(turnID); turn.Status != parley.TurnCompleted {
				t.Errorf("turn %s, %+v", turn.Status, turn.Error)
			}
			ok := parley.MessageCompleted
			want := []line{
				{parley.RoleUser, ok, "Go"},
				{parley.RoleAssistant, ok, ""},
				{parley.RoleToolCall, ok, `act {"a":2,"b":1}`},
				{
					parley.RoleToolResult,
					ok,
					strings.ReplaceAll(c.result, "%", r.owner.Name),
				},
				{parley.RoleAssistant, ok, "Done."},
			}
			if diff := cmp.Diff(want, r.record(sessionID)); diff != "" {
				t.Error(diff)
			}
			if runs.Load() != c.runs {
				t.Errorf("%d runs", runs.Load())
			}
			if got := r.told(sessionID); strings.Count(got, "tool.started") != int(c.runs) {
				t.Errorf("events %s", got)
			}
		})
	}
}

// TestTheDeadlineIsTheNearestScopes: the session's seconds override the agent's.
func TestTheDeadlineIsTheNearestScopes(t *testing.T) {
	r := newRig(t)
	r.tools = fakeTools{counting("act", destructive(), new(atomic.Int32))}
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "act", `{}`))
	set := tooled("act")
	set.ApprovalTimeout = new(90)
	sessionID := r.session(set, nil)
	r.post(sessionID, "Go", "")
	r.waits(sessionID, parley.WaitApproval, 1)
	if a := r.questions(sessionID)[0]; a.ExpiresAt-a.CreatedAt != 90_000 {
		t.Errorf("its time is %d ms", a.ExpiresAt-a.CreatedAt)
	}
}

func TestSilenceIsANo(t *testing.T) {
	r := newRig(t)
	var runs atomic.Int32
	r.tools = fakeTools{counting("act", destructive(), &runs)}
	r.options.Lease = crashLease // sets the sweep's interval
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "act", `{}`), says("Then not."))
	set := tooled("act")
	set.ApprovalTimeout = new(1)
	sessionID := r.session(set, nil)
	if turn := r.ended(r.post(sessionID, "Go", "").Turn.ID); turn.Status != parley.TurnCompleted {
		t.Errorf("turn %s", turn.Status)
	}
	if got := r.record(sessionID)[3].Says; got != resultNoAnswer || runs.Load() != 0 {
		t.Errorf("the result is %q after %d runs", got, runs.Load())
	}
}

func TestADenialIsAnImmediateResult(t *testing.T) {
	r := newRig(t)
	var runs atomic.Int32
	r.tools = fakeTools{counting("act", readOnly(), &runs)}
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "act", `{}`, "ask", `{}`), says("Then not."))
	set := clientTool("ask", "act")
	set.Grants = &[]parley.Grant{{Tool: "a*", Effect: parley.GrantDeny}}
	sessionID := r.session(set, nil)
	r.ended(r.post(sessionID, "Go", "").Turn.ID)
	if got := r.record(
		sessionID,
	); got[4].Says != resultForbidden || got[5].Says != resultForbidden ||
		runs.Load() != 0 {
		t.Errorf("%+v after %d runs", got, runs.Load())
	}
	if len(r.questions(sessionID)) != 0 {
		t.Error("somebody was asked about a denied call")
	}
}

// TestADenialAfterApprovalHolds: the rules are checked again before the call runs.
func TestADenialAfterApprovalHolds(t *testing.T) {
	r := newRig(t)
	var runs atomic.Int32
	r.tools = fakeTools{counting("act", destructive(), &runs)}
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "act", `{}`), says("Then not."))
	sessionID := r.session(tooled("act"), nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.waits(sessionID, parley.WaitApproval, 1)
	denied := []parley.Grant{{Tool: "act", Effect: parley.GrantDeny}}
	_, err := r.store.UpdateSession(t.Context(), r.scope, sessionID, store.SessionChange{
		Settings: parley.SettingsPatch{Grants: parley.Change[*[]parley.Grant]{Set: true, Value: &denied}}})
	r.must(err)
	r.decide(r.questions(sessionID)[0].ID, yes)
	r.ended(turnID)
	if got := r.record(sessionID)[3].Says; got != resultForbidden || runs.Load() != 0 {
		t.Errorf("the result is %q after %d runs", got, runs.Load())
	}
}

// TestAYesForTheSession: the next call of the tool is not asked about.
func TestAYesForTheSession(t *testing.T) {
	r := newRig(t)
	var runs atomic.Int32
	r.tools = fakeTools{counting("act", destructive(), &runs)}
	r.start(nil)
	r.model.play(
		calls(parley.FinishToolCalls, "act", `{"n":1}`, "act", `{"n":2}`),
		calls(parley.FinishToolCalls, "act", `{"n":3}`),
		says("Done."),
	)
	sessionID := r.session(tooled("act"), nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.waits(sessionID, parley.WaitApproval, 1)
	r.decide(
		r.questions(sessionID)[0].ID,
		parley.Decision{Decision: parley.DecideApprove, Scope: parley.ScopeSession, Covers: parley.CoversTool},
	)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted || runs.Load() != 3 {
		t.Errorf("turn %s after %d runs", turn.Status, runs.Load())
	}
}

// TestChildrenInheritDenialsAlone (failure 64).
func TestChildrenInheritDenialsAlone(t *testing.T) {
	r := newRig(t)
	var acted, wiped atomic.Int32
	r.tools = fakeTools{counting("act", destructive(), &acted), counting("wipe", readOnly(), &wiped)}
	r.start(nil)
	above := tooled("act", "wipe")
	above.Grants = &[]parley.Grant{{Tool: "act", Effect: parley.GrantAllow}, {Tool: "wipe", Effect: parley.GrantDeny}}
	root := r.session(above, nil)
	middle := r.session(tooled("act"), func(s *parley.Session) { s.Kind, s.ParentSessionID = parley.KindTool, root })
	child := r.session(
		tooled("act", "wipe"),
		func(s *parley.Session) { s.Kind, s.ParentSessionID = parley.KindTool, middle },
	)
	r.model.play(calls(parley.FinishToolCalls, "act", `{}`, "wipe", `{}`), says("Done."))
	turnID := r.post(child, "Go", "").Turn.ID
	r.waits(child, parley.WaitApproval, 1)
	asked := r.questions(child)
	if len(asked) != 1 || asked[0].ToolName != "act" || asked[0].RootID != root {
		t.Fatalf("asked %+v; a permission of the parent does not apply to its child", asked)
	}
	if at := r.questions(root); len(at) != 1 || at[0].ID != asked[0].ID {
		t.Errorf("the root lists %+v", at)
	}
	r.happened(root, parley.EventApprovalCreated)
	r.decide(asked[0].ID, yes)
	r.ended(turnID)
	r.happened(root, parley.EventApprovalResolved)
	if acted.Load() != 1 || wiped.Load() != 0 {
		t.Errorf("act ran %d times, the tool denied by the parent %d times", acted.Load(), wiped.Load())
	}
}

// TestMixedCallsOfOneStep: one call runs immediately, one waits for an approval, one for a client, one for the person,
// whatever the order of the answers.
func TestMixedCallsOfOneStep(t *testing.T) {
	answers := map[string]func(r *rig, sessionID parley.ID){
		"approval": func(r *rig, sessionID parley.ID) { r.decide(r.questions(sessionID)[0].ID, yes) },
		"client":   func(r *rig, sessionID parley.ID) { r.replies(sessionID, "ask", `"from the client"`) },
		"person":   func(r *rig, sessionID parley.ID) { r.replies(sessionID, parley.AskUserTool, `"from the person"`) },
	}
	for _, c := range []struct {
		order   []string
		reasons []parley.WaitReason
	}{
		{[]string{"approval", "person", "client"},
			[]parley.WaitReason{parley.WaitApproval, parley.WaitInput, parley.WaitToolResult}},
		{[]string{"client", "person", "approval"},
			[]parley.WaitReason{parley.WaitApproval, parley.WaitApproval, parley.WaitApproval}},
		{[]string{"person", "approval", "client"},
			[]parley.WaitReason{parley.WaitApproval, parley.WaitApproval, parley.WaitToolResult}},
	} {
		t.Run(strings.Join(c.order, " "), func(t *testing.T) {
			r := newRig(t)
			var looked, acted atomic.Int32
			r.tools = fakeTools{counting("look", readOnly(), &looked), counting("act", destructive(), &acted)}
			r.start(nil)
			r.model.play(
				calls(
					parley.FinishToolCalls,
					"ask",
					`{}`,
					"act",
					`{}`,
					parley.AskUserTool,
					`{"question":"Which?"}`,
					"look",
					`{}`,
				),
				says("Done."),
			)
			sessionID := r.session(clientTool("ask", "act", "look", parley.AskUserTool), nil)
			turnID := r.post(sessionID, "Go", "").Turn.ID
			r.happened(sessionID, parley.EventSessionWaiting)
			for i, who := range c.order {
				r.settledAs(sessionID, c.reasons[i])
				if looked.Load() != 1 {
					t.Error("the call that needs no answer waited")
				}
				answers[who](r, sessionID)
			}
			if turn := r.ended(turnID); turn.Status != parley.TurnCompleted || turn.Step != 2 {
				t.Errorf("turn %+v", turn)
			}
			results := map[string]string{}
			for _, m := range r.messages(sessionID) {
				if m.Role == parley.RoleToolResult {
					results[m.ToolName] = string(m.Content)
				}
			}
			if len(results) != 4 || !jsonHas(results["ask"], `"fromtheclient"`) ||
				!jsonHas(results[parley.AskUserTool], `"fromtheperson"`) ||
				!jsonHas(results["act"], `"done"`) ||
				acted.Load() != 1 {
				t.Errorf("results %v, act ran %d times", results, acted.Load())
			}
		})
	}
}

// settledAs waits until no worker holds the session, and expects it to wait for the given reason.
func (r *rig) settledAs(sessionID parley.ID, reason parley.WaitReason) {
	r.Helper()
	for {
		r.idleSlots(r.worker)
		session, err := r.store.Session(r.Context(), r.scope, sessionID)
		r.must(err)
		if session.Status == parley.SessionWaiting {
			if session.WaitReason != reason {
				r.Errorf("the session waits for %q, want %q", session.WaitReason, reason)
			}
			return
		}
	}
}

func TestAQuestionThatAsksNothingIsRefused(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, parley.AskUserTool, `{"options":["a"]}`), says("Sorry."))
	sessionID := r.session(tooled(parley.AskUserTool), nil)
	r.ended(r.post(sessionID, "Go", "").Turn.ID)
	if got := r.record(sessionID)[3].Says; got != resultNoQuestion {
		t.Errorf("the result is %q", got)
	}
}

// TestASteerWaitsForTheAnswer: a message does not answer for a person.
func TestASteerWaitsForTheAnswer(t *testing.T) {
	r := newRig(t)
	var runs atomic.Int32
	r.tools = fakeTools{counting("act", destructive(), &runs)}
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "act", `{}`), says("As you say."))
	sessionID := r.session(tooled("act"), nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.waits(sessionID, parley.WaitApproval, 1)
	r.post(sessionID, "And be quick", parley.DuringSteer)
	r.decide(r.questions(sessionID)[0].ID, yes)
	r.ended(turnID)
	ok := parley.MessageCompleted
	want := []line{
		{parley.RoleUser, ok, "Go"},
		{parley.RoleAssistant, ok, ""},
		{parley.RoleToolCall, ok, `act {}`},
		{
			parley.RoleToolResult,
			ok,
			`"done"`,
		},
		{parley.RoleUser, ok, "And be quick"},
		{parley.RoleAssistant, ok, "As you say."},
	}
	if diff := cmp.Diff(want, r.record(sessionID)); diff != "" {
		t.Error(diff)
	}
}

// TestCancelWhileAnApprovalWaits (failure 48).
func TestCancelWhileAnApprovalWaits(t *testing.T) {
	r := newRig(t)
	var runs atomic.Int32
	r.tools = fakeTools{counting("act", destructive(), &runs)}
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "act", `{}`))
	sessionID := r.session(tooled("act"), nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.waits(sessionID, parley.WaitApproval, 1)
	if turn := r.cancel(sessionID, turnID); turn.Status != parley.TurnCancelled {
		t.Errorf("turn %s", turn.Status)
	}
	asked := r.questions(sessionID)[0]
	if asked.State != parley.ApprovalCancelled {
		t.Errorf("the approval is %s", asked.State)
	}
	late := yes
	late.By = r.owner.Author()
	if _, err := r.store.DecideApproval(
		t.Context(),
		r.scope,
		asked.ID,
		late,
		parley.ID{},
	); parley.ErrorCode(
		err,
	) != parley.CodeConflict {
		t.Errorf("an approval after the cancel: %v", err)
	}
	r.model.play(says("Fine."))
	if turn := r.ended(r.post(sessionID, "More", "").Turn.ID); turn.Status != parley.TurnCompleted || runs.Load() != 0 {
		t.Errorf("the next turn is %s after %d runs", turn.Status, runs.Load())
	}
}

// TestCrashAroundAnApprovedCall kills the worker right before and after the transactions of an approved call.
func TestCrashAroundAnApprovedCall(t *testing.T) {
	for _, c := range []struct {
		method      string // the worker dies right before this write
		annotations parley.ToolAnnotations
		runs        int32
		result      string
	}{
		{"UseApprovals", destructive(), 1, `"done"`},
		{"SettleTool", destructive(), 1, parley.EffectUnknown},
		{"SettleTool", parley.ToolAnnotations{Destructive: true, Idempotent: true}, 2, `"done"`},
	} {
		t.Run(c.method, func(t *testing.T) {
			r := newRig(t)
			var runs atomic.Int32
			r.tools = fakeTools{counting("act", c.annotations, &runs)}
			dying := r.crashing()
			r.model.play(calls(parley.FinishToolCalls, "act", `{}`), says("Done."))
			sessionID := r.session(tooled("act"), nil)
			turnID := r.post(sessionID, "Go", "").Turn.ID
			r.waits(sessionID, parley.WaitApproval, 1)
			dead := dying.killBefore(c.method, 1)
			r.decide(r.questions(sessionID)[0].ID, yes)
			r.wait("the crash", dead)
			r.takeOver()
			if turn := r.ended(turnID); turn.Status != parley.TurnCompleted {
				t.Errorf("turn %s, %+v", turn.Status, turn.Error)
			}
			if got := r.record(sessionID)[3].Says; got != c.result || runs.Load() != c.runs {
				t.Errorf("the result is %q after %d runs, want %q after %d", got, runs.Load(), c.result, c.runs)
			}
		})
	}
}

// TestCrashBetweenAskingAndParking: the question is part of the step's transaction, so the next process finds it and
// waits.
func TestCrashBetweenAskingAndParking(t *testing.T) {
	r := newRig(t)
	var runs atomic.Int32
	r.tools = fakeTools{counting("act", destructive(), &runs)}
	dying := r.crashing()
	dead := dying.killBefore("ParkTurn", 1)
	r.model.play(calls(parley.FinishToolCalls, "act", `{}`), says("Done."))
	sessionID := r.session(tooled("act"), nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.wait("the crash", dead)
	r.takeOver()
	r.waits(sessionID, parley.WaitApproval, 1)
	if asked := r.questions(sessionID); len(asked) != 1 || asked[0].State != parley.ApprovalPending {
		t.Fatalf("asked %+v", asked)
	}
	r.decide(r.questions(sessionID)[0].ID, yes)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted || runs.Load() != 1 {
		t.Errorf("turn %s after %d runs", turn.Status, runs.Load())
	}
}

// TestAnAnswerWhileASiblingRuns: the turn does not wait for an answer that it has.
func TestAnAnswerWhileASiblingRuns(t *testing.T) {
	r := newRig(t)
	var runs atomic.Int32
	reached, goOn := make(chan struct{}), make(chan struct{})
	r.tools = fakeTools{
		counting("act", destructive(), &runs),
		{"look", parley.ToolAnnotations{}, func(context.Context, tool.Call) (json.RawMessage, error) {
			close(reached)
			<-goOn
			return json.RawMessage(`1`), nil
		}},
	}
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "act", `{}`, "look", `{}`), says("Done."))
	sessionID := r.session(tooled("act", "look"), nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.wait("the tool", reached)
	r.decide(r.questions(sessionID)[0].ID, yes)
	close(goOn)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted || turn.Attempt != 1 || runs.Load() != 1 {
		t.Errorf("turn %s in attempt %d after %d runs", turn.Status, turn.Attempt, runs.Load())
	}
	if got := r.told(sessionID); strings.Contains(got, string(parley.EventSessionWaiting)) {
		t.Errorf("it waited: %s", got)
	}
}

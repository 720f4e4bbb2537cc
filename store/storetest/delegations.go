package storetest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testDelegations(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"ATaskAndItsAnswer":              delegationAnswered,
		"AnswersEnterTogether":           delegationBatch,
		"ATaskPassedOnIsAnsweredLater":   delegationChain,
		"AQuestionInATask":               delegationQuestion,
		"AReportAndAFinalOne":            delegationReports,
		"ATurnThatFailsOrIsCancelled":    delegationFails,
		"ADeadlinePasses":                delegationExpires,
		"ACancelledTask":                 delegationCancelled,
		"ATargetThatTakesNothing":        delegationRefused,
		"ADeletedReceiver":               delegationDeleted,
		"AMemberLeaves":                  delegationLeft,
		"WhatMayNotBeSent":               delegationBounds,
		"WakeTurnsThatNeverBegin":        delegationWakeCancelled,
		"WhoSeesADelegation":             delegationScope,
		"MovesThatMeet":                  delegationRaces,
		"SendersOfOneRootKeepItsBound":   delegationRootRace,
		"AnswersOfDifferentWorkAreApart": delegationApart,
		"AFullBatchOfAnswers":            delegationFullBatch,
		"ManyHops":                       delegationHops,
		"AFullQueue":                     delegationFull,
		"ADeadlinePassesWhileItWaits":    delegationExpiresWaiting,
		"MetadataLikeADelegations":       delegationLook,
		"WhatATeamWaitsFor":              teamDelegations,
		"ADeliveryClaimsItsTurn":         delegationClaimed,
		"ADeliveryThatClaimsNothing":     delegationUnclaimed,
	})
}

// crew is a lead with two subordinates, one of which leads another.
type crew struct {
	*world
	lead, scout, clerk, runner parley.Agent
	at                         parley.ID // the lead's background session
}

func (w *world) crew(t reporter) *crew {
	t.Helper()
	c := &crew{world: w}
	c.lead = w.worker(t, "lead")
	under := func(lead parley.Agent) func(*parley.Agent) {
		return func(a *parley.Agent) { a.LeadID = lead.ID }
	}
	c.scout = w.worker(t, "scout", under(c.lead))
	c.clerk = w.worker(t, "clerk", under(c.lead))
	c.runner = w.worker(t, "runner", under(c.scout))
	c.at = w.background(t, &c.lead).ID
	return c
}

func (c *crew) task(to parley.Agent, text string) parley.Sending {
	return parley.Sending{Kind: parley.DelegationTask, To: to.ID, Text: text}
}

// sends runs a step of a turn whose calls send; it returns the ids of what they sent.
func (w *world) sends(t reporter, claim store.Claim, step int, sendings ...parley.Sending) (ids []parley.ID) {
	t.Helper()
	begin := w.begin(t, claim.Fence, step)
	settle := settlement(begin, "")
	settle.Call.Finish = parley.FinishToolCalls
	var calls []agentCall
	for _, sending := range sendings {
		call := agentCall{parley.NewID(), "call_" + parley.NewID().String()}
		_, err := w.store.OpenBlock(w.ctx, claim.Fence, store.BlockOpen{
			MessageID: call.message, Step: step, Role: parley.RoleToolCall, Author: w.author(), Model: modelID,
			ToolCallID: call.id, ToolName: "send",
		})
		must(t, "OpenBlock", err)
		arguments, err := json.Marshal(map[string]string{
			"result": sending.Text, "title": sending.Title, "summary": sending.Summary, "type": string(sending.Type),
		})
		must(t, "Marshal", err)
		content, err := parley.EncodeContent(parley.ToolCallContent{ID: call.id, Name: "send", Arguments: arguments})
		must(t, "EncodeContent", err)
		settle.Blocks = append(settle.Blocks, store.BlockSettled{
			MessageID: call.message, Status: parley.MessageCompleted, Content: content, ToolName: "send",
		})
		settle.ToolsStarted = append(settle.ToolsStarted, call.id)
		calls = append(calls, call)
	}
	w.settle(t, claim.Fence, settle)
	for i := range calls {
		result := w.toolSettle(step, calls[i].id)
		result.Send = &sendings[i]
		_, err := w.store.SettleTool(w.ctx, claim.Fence, result)
		must(t, "SettleTool", err)
		ids = append(ids, parley.DelegationID(calls[i].message))
	}
	return ids
}

// begins posts a person's message into the lead's background session and claims its turn.
func (c *crew) begins(t reporter) store.Claim {
	t.Helper()
	c.post(t, c.at, c.say("Off you go."))
	return c.claim(t)
}

// hands is a lead's turn that sends and ends, and the delivery of what it sent.
func (c *crew) hands(t reporter, sendings ...parley.Sending) []parley.ID {
	t.Helper()
	claim := c.begins(t)
	ids := c.sends(t, claim, 1, sendings...)
	claim.Turn.Step = 1
	c.answer(t, claim, "They are at work.")
	c.errands(t)
	return ids
}

// claimed claims every ready turn, by agent.
func (c *crew) claimed(t reporter) map[string]store.Claim {
	t.Helper()
	found := map[string]store.Claim{}
	for _, claim := range c.claimAll(t) {
		found[claim.Agent.Slug] = claim
	}
	return found
}

func (w *world) delegation(t reporter, id parley.ID) parley.Delegation {
	t.Helper()
	d, err := w.store.Delegation(w.ctx, w.scope, id)
	must(t, "Delegation", err)
	return d
}

// is requires the state of a delegation.
func (w *world) is(t reporter, id parley.ID, want parley.DelegationStatus) parley.Delegation {
	t.Helper()
	d := w.delegation(t, id)
	if d.Status != want {
		t.Fatalf("the %s %q is %s (%s); want %s", d.Kind, d.Title(), d.Status, d.Reason, want)
	}
	return d
}

// citedAs is how a message says how it is cited.
var citedAs = regexp.MustCompile(` \[[0-9a-f-]{36}:[0-9]+\]`)

// heard returns the first lines of what agents wrote into a session's record, without citations, with the turn that
// each is in.
func (w *world) heard(t reporter, session parley.ID) (lines []string, turns []parley.ID) {
	t.Helper()
	for _, m := range w.check(t, session).Record {
		var content parley.UserContent
		if m.Role != parley.RoleUser || m.Author.Kind != parley.AuthorAgent {
			continue
		}
		must(t, "Unmarshal", json.Unmarshal(m.Content, &content))
		lines = append(lines, citedAs.ReplaceAllString(strings.ReplaceAll(content.Text, "\n\n", " | "), ""))
		turns = append(turns, m.TurnID)
	}
	return lines, turns
}

// hears requires what agents wrote into a session's record.
func (w *world) hears(t reporter, session parley.ID, want ...string) {
	t.Helper()
	got, _ := w.heard(t, session)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("agents wrote (-want +got):\n%s", diff)
	}
}

// delegationEvents returns the types of a session's events about delegations.
func (w *world) delegationEvents(t reporter, session parley.ID) (types []parley.EventType) {
	t.Helper()
	events, err := w.store.Events(w.ctx, w.scope, session, 0, parley.MaxPage)
	must(t, "Events", err)
	for _, e := range events {
		if strings.HasPrefix(string(e.Type), "delegation.") {
			types = append(types, e.Type)
		}
	}
	return types
}

const lookAnswer = `Answer to your task to scout (scout), "Look.": | All quiet.`

// delegationAnswered: a task is sent with its call's result, delivered once, begun with its turn and answered by its
// end; the answer wakes the sender.
func delegationAnswered(t *testing.T, w *world) {
	c := w.crew(t)
	claim := c.begins(t)
	id := c.sends(t, claim, 1, c.task(c.scout, "Look."))[0]
	sent := c.is(t, id, parley.DelegationSent)
	if sent.RootID != claim.Trigger.ID || sent.Hop != 1 || sent.FromSessionID != c.at || !sent.ToSessionID.IsZero() ||
		sent.DeadlineAt-sent.CreatedAt != parley.Time(parley.DefaultDelegationDeadline.Milliseconds()) {
		t.Errorf("sent: %+v", sent)
	}
	c.errands(t)
	c.is(t, id, parley.DelegationDelivered)
	work := c.claimed(t)["scout"]
	running := c.is(t, id, parley.DelegationRunning)
	if running.MessageID != work.Trigger.ID || running.TurnID != work.Turn.ID ||
		running.ToSessionID != work.Fence.SessionID || work.Trigger.Author.ID != c.lead.ID {
		t.Errorf("running: %+v with the trigger %+v", running, work.Trigger)
	}
	c.answer(t, work, "All quiet.")
	c.is(t, id, parley.DelegationAnswered)
	claim.Turn.Step = 1
	c.answer(t, claim, "It is at work.")
	c.errands(t)
	home := c.claim(t)
	c.hears(t, c.at, lookAnswer)
	answered := c.delegation(t, id)
	if answered.ReturnMessageID != home.Trigger.ID || answered.ReturnTurnID != home.Turn.ID ||
		answered.AnswerTurnID != work.Turn.ID || c.message(t, answered.AnswerMessageID).TurnID != work.Turn.ID {
		t.Errorf("answered: %+v", answered)
	}
	c.answer(t, home, "Done.")
	c.errands(t)
	c.claimsNothing(t)
	c.hears(t, running.ToSessionID, "Task from lead (lead). Your answer goes back to them. | Look.")
	if diff := cmp.Diff(
		[]parley.EventType{"delegation.sent", "delegation.answered"}, c.delegationEvents(t, c.at),
	); diff != "" {
		t.Errorf("the sender was told (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(
		[]parley.EventType{"delegation.delivered", "delegation.running", "delegation.answered"},
		c.delegationEvents(t, running.ToSessionID),
	); diff != "" {
		t.Errorf("the receiver was told (-want +got):\n%s", diff)
	}
}

// delegationBatch: answers that wait enter as separate messages of one turn, whether the session is idle or busy; a
// turn takes MaxDelegationBatch, and one that has begun takes no more.
func delegationBatch(t *testing.T, w *world) {
	c := w.crew(t)
	c.hands(t, c.task(c.scout, "Look."), c.task(c.clerk, "Count."), c.task(c.scout, "Listen."))
	busy := c.post(t, c.at, c.say("Meanwhile."))
	work := c.claimed(t)
	c.answer(t, work["scout"], "All quiet.")
	c.answer(t, work["clerk"], "Twelve.")
	c.errands(t) // both wait behind the person's turn
	second := c.claimed(t)["scout"]
	c.answer(t, work["lead"], "Yes?")
	c.answer(t, second, "A cricket.")
	c.errands(t) // the third arrives when the turn of the others is next
	home := c.claim(t)
	lines, turns := c.heard(t, c.at)
	if len(lines) != 3 || !slices.Equal(turns, []parley.ID{home.Turn.ID, home.Turn.ID, home.Turn.ID}) {
		t.Errorf("the turn %s began with %q of the turns %v", home.Turn.ID, lines, turns)
	}
	if work["lead"].Turn.ID != busy.Turn.ID {
		t.Error("the person's message did not go first")
	}
	c.answer(t, home, "Done.")
	c.claimsNothing(t)
	// While a turn with answers runs, further ones begin another.
	c.hands(t, c.task(c.scout, "Look."), c.task(c.clerk, "Count."))
	work = c.claimed(t)
	c.answer(t, work["scout"], "All quiet.")
	c.errands(t)
	home = c.claim(t)
	c.answer(t, work["clerk"], "Twelve.")
	c.errands(t)
	c.answer(t, home, "One.")
	next := c.claim(t)
	c.answer(t, next, "Two.")
	if _, turns := c.heard(t, c.at); turns[3] != home.Turn.ID || turns[4] != next.Turn.ID {
		t.Errorf("the answers are in the turns %v", turns)
	}
}

// delegationChain: a task whose turn passes it on is answered by the turn that its answer starts, and not by the one
// that says that it was passed on.
func delegationChain(t *testing.T, w *world) {
	c := w.crew(t)
	id := c.hands(t, c.task(c.scout, "Look."))[0]
	work := c.claimed(t)["scout"]
	below := c.sends(t, work, 1, c.task(c.runner, "Run."))[0]
	passed := c.is(t, below, parley.DelegationSent)
	if passed.ParentID != id || passed.Hop != 2 || passed.RootID != c.delegation(t, id).RootID {
		t.Errorf("passed on: %+v", passed)
	}
	c.errands(t)
	c.answer(t, c.claimed(t)["runner"], "It is far.") // answered before the turn that asked has ended
	c.errands(t)
	work.Turn.Step = 1
	c.answer(t, work, "I have asked.")
	c.is(t, id, parley.DelegationRunning)
	c.answer(t, c.claimed(t)["scout"], "All quiet.")
	c.is(t, id, parley.DelegationAnswered)
	c.errands(t)
	c.answer(t, c.claim(t), "Done.")
	c.hears(t, c.at, lookAnswer)
}

// delegationQuestion: a subordinate asks its lead, whose answer continues the task.
func delegationQuestion(t *testing.T, w *world) {
	c := w.crew(t)
	id := c.hands(t, c.task(c.scout, "Look."))[0]
	work := c.claimed(t)["scout"]
	c.sends(t, work, 1, parley.Sending{Kind: parley.DelegationQuestion, To: c.lead.ID, Text: "Where?"})
	work.Turn.Step = 1
	c.answer(t, work, "I have asked.")
	c.errands(t)
	c.answer(t, c.claimed(t)["lead"], "North.")
	c.errands(t)
	c.is(t, id, parley.DelegationRunning)
	c.answer(t, c.claimed(t)["scout"], "All quiet.")
	c.errands(t)
	c.answer(t, c.claim(t), "Done.")
	c.hears(t, c.at, "Question from scout (scout). Your answer goes back to them. | Where?", lookAnswer)
	c.hears(t, work.Fence.SessionID, "Task from lead (lead). Your answer goes back to them. | Look.",
		`Answer to your question to lead (lead), "Where?": | North.`)
}

// delegationReports: a report is a note that wakes the lead; a final one answers the task, once, and tasks and
// questions that were passed on for it are called off. Reports and briefings still arrive.
func delegationReports(t *testing.T, w *world) {
	c := w.crew(t)
	id := c.hands(t, c.task(c.scout, "Look."))[0]
	work := c.claimed(t)["scout"]
	tells := func(text string, final bool) parley.Sending {
		return parley.Sending{Kind: parley.DelegationReport, To: c.lead.ID, Text: text, Final: final}
	}
	note := c.sends(t, work, 1, tells("Half way.", false))[0]
	c.errands(t)
	if told := c.is(t, note, parley.DelegationDelivered); told.FinishedAt == 0 || told.DeadlineAt != 0 {
		t.Errorf("the report is %+v", told)
	}
	c.answer(t, c.claimed(t)["lead"], "Good.")
	c.is(t, id, parley.DelegationRunning)
	below := c.sends(t, work, 2, c.task(c.runner, "Run."))[0]
	c.errands(t)
	brief := parley.Sending{Kind: parley.DelegationBriefing, Text: "All is quiet there.", Title: "Quiet"}
	last := c.sends(t, work, 3, tells("All quiet.", true), tells("By the way.", false), brief)
	c.is(t, id, parley.DelegationAnswered)
	c.errands(t)
	for _, sent := range last { // what says something arrives, although the work has ended
		c.is(t, sent, parley.DelegationDelivered)
	}
	c.is(t, below, parley.DelegationCancelled)
	work.Turn.Step = 3
	c.answer(t, work, "I have reported.")
	c.errands(t)
	c.answer(t, c.claimed(t)["lead"], "Done.")
	c.hears(t, c.at, "Report from scout (scout): | Half way.", lookAnswer, "Report from scout (scout): | By the way.")
}

// delegationFails: a task ends as its turn does, and its sender is told why.
func delegationFails(t *testing.T, w *world) {
	c := w.crew(t)
	ids := c.hands(t, c.task(c.scout, "Look."), c.task(c.clerk, "Count."))
	work := c.claimed(t)
	_, err := c.store.FinishTurn(c.ctx, work["scout"].Fence, *failed(parley.ClassModel))
	must(t, "FinishTurn", err)
	_, err = c.store.FinishTurn(c.ctx, work["clerk"].Fence, store.TurnEnd{Status: parley.TurnCancelled})
	must(t, "FinishTurn", err)
	c.is(t, ids[0], parley.DelegationFailed)
	c.is(t, ids[1], parley.DelegationCancelled)
	c.errands(t)
	c.answer(t, c.claim(t), "Pity.")
	lines, _ := c.heard(t, c.at)
	slices.Sort(lines)
	if diff := cmp.Diff([]string{
		`No answer to your task to clerk (clerk), "Count.": it was cancelled: its turn was cancelled.`,
		`No answer to your task to scout (scout), "Look.": it failed: ` + parley.ClassModel.Sentence() + `.`,
	}, lines); diff != "" {
		t.Errorf("the lead was told (-want +got):\n%s", diff)
	}
}

// delegationExpires: a deadline ends a task that nobody has begun and one that runs, with its turn.
func delegationExpires(t *testing.T, w *world) {
	c := w.crew(t)
	claim := c.begins(t)
	late := c.task(c.scout, "Look.")
	late.Deadline = -time.Second
	id := c.sends(t, claim, 1, late)[0]
	claim.Turn.Step = 1
	c.answer(t, claim, "It is at work.")
	c.errands(t)
	c.is(t, id, parley.DelegationExpired)
	c.claimAll(t)
	c.hears(t, c.at, `No answer to your task to scout (scout), "Look.": its deadline has passed.`)
}

// delegationCancelled: a cancel stops the turn and everything that was passed on, tells the sender, and is the same
// when it is repeated.
func delegationCancelled(t *testing.T, w *world) {
	c := w.crew(t)
	ids := c.hands(t, c.task(c.scout, "Look."), c.task(c.scout, "Listen."))
	work := c.claimed(t)["scout"]
	below := c.sends(t, work, 1, c.task(c.runner, "Run."))[0]
	c.errands(t)
	running := c.claimed(t)["runner"]
	for range 2 {
		d, err := c.store.CancelDelegation(c.ctx, c.scope, ids[0])
		must(t, "CancelDelegation", err)
		if d.Status != parley.DelegationCancelled {
			t.Errorf("cancelled: %+v", d)
		}
	}
	queued, err := c.store.CancelDelegation(c.ctx, c.scope, ids[1]) // its turn waits behind the other one
	must(t, "CancelDelegation", err)
	c.errands(t)
	for _, claim := range []store.Claim{work, running} { // both were told, and settle
		_, err := c.store.FinishTurn(c.ctx, claim.Fence, store.TurnEnd{Status: parley.TurnCancelled})
		must(t, "FinishTurn", err)
	}
	c.errands(t)
	c.is(t, below, parley.DelegationCancelled)
	if turn := c.turn(t, queued.TurnID); turn.Status != parley.TurnCancelled {
		t.Errorf("the queued turn is %s", turn.Status)
	}
	c.answer(t, c.claim(t), "Very well.")
	c.claimsNothing(t)
	c.check(t, work.Fence.SessionID)
	c.hears(t, c.at, `No answer to your task to scout (scout), "Look.": it was cancelled.`,
		`No answer to your task to scout (scout), "Listen.": it was cancelled.`)
	done := c.hands(t, c.task(c.clerk, "Count."))[0]
	c.answer(t, c.claim(t), "Twelve.")
	_, err = c.store.CancelDelegation(c.ctx, c.scope, done)
	refused(t, "CancelDelegation of an answered task", err, parley.CodeConflict)
}

// delegationRefused: a receiver that is archived, or whose session is, or is full, fails the task.
func delegationRefused(t *testing.T, w *world) {
	c := w.crew(t)
	archived := true
	session := c.background(t, &c.scout).ID
	_, err := c.store.UpdateSession(c.ctx, c.scope, session, store.SessionChange{Archived: &archived})
	must(t, "UpdateSession", err)
	claim := c.begins(t)
	ids := c.sends(t, claim, 1, c.task(c.scout, "Look."), c.task(c.clerk, "Count."))
	c.clerk.Status = parley.AgentArchived
	_, err = c.store.UpdateAgent(c.ctx, c.clerk)
	must(t, "UpdateAgent", err)
	claim.Turn.Step = 1
	c.answer(t, claim, "They are at work.")
	c.errands(t)
	for i, reason := range []string{"the agent's background session is archived", "the agent is archived"} {
		if d := c.is(t, ids[i], parley.DelegationFailed); d.Reason != reason {
			t.Errorf("the task failed because %q; want %q", d.Reason, reason)
		}
	}
	c.answer(t, c.claim(t), "Pity.")
	if lines, _ := c.heard(t, c.at); len(lines) != 2 {
		t.Errorf("the lead was told %q", lines)
	}
}

// delegationDeleted: the sender learns that its receiver's session was deleted.
func delegationDeleted(t *testing.T, w *world) {
	c := w.crew(t)
	id := c.hands(t, c.task(c.scout, "Look."))[0]
	d := c.is(t, id, parley.DelegationDelivered)
	must(t, "DeleteSession", c.store.DeleteSession(c.ctx, c.scope, d.ToSessionID))
	c.errands(t)
	c.is(t, id, parley.DelegationCancelled)
	c.answer(t, c.claim(t), "Pity.")
	c.hears(t, c.at,
		`No answer to your task to scout (scout), "Look.": it was cancelled: a background session was deleted.`)
}

// delegationLeft: what is open from and to an agent that leaves its team ends, and the other side is told.
func delegationLeft(t *testing.T, w *world) {
	c := w.crew(t)
	ids := c.hands(t, c.task(c.scout, "Look."), c.task(c.clerk, "Count."))
	work := c.claimed(t)["scout"]
	c.scout.LeadID = parley.ID{}
	_, err := c.store.UpdateAgent(c.ctx, c.scout)
	must(t, "UpdateAgent", err)
	c.errands(t)
	c.is(t, ids[0], parley.DelegationCancelled)
	c.is(t, ids[1], parley.DelegationRunning)
	_, err = c.store.FinishTurn(c.ctx, work.Fence, store.TurnEnd{Status: parley.TurnCancelled})
	must(t, "FinishTurn", err)
	c.answer(t, c.claim(t), "Pity.")
	c.hears(t, c.at, `No answer to your task to scout (scout), "Look.": it was cancelled: an agent left the team.`)
}

// delegationBounds: nothing is recorded of what may not be sent, and the call has no result then.
func delegationBounds(t *testing.T, w *world) {
	c := w.crew(t)
	claim := c.begins(t)
	tries := func(claim store.Claim, step int, sending parley.Sending) error {
		call := c.callTools(t, claim.Fence, step, 1)[0]
		settle := c.toolSettle(step, call)
		settle.Send = &sending
		_, err := c.store.SettleTool(c.ctx, claim.Fence, settle)
		if err != nil {
			settle.Send = nil
			_, again := c.store.SettleTool(c.ctx, claim.Fence, settle)
			must(t, "SettleTool", again)
		}
		return err
	}
	refused(t, "a task for the subordinate of a subordinate", tries(claim, 1, c.task(c.runner, "Run.")),
		parley.CodeInvalid)
	refused(t, "a report without a lead", tries(claim, 2,
		parley.Sending{Kind: parley.DelegationReport, To: parley.ID{}, Text: "Done."}), parley.CodeInvalid)
	for i := range parley.MaxDelegationPair {
		must(t, "a task", tries(claim, 3+i, c.task(c.scout, "Look.")))
	}
	refused(t, "one task too many for one agent", tries(claim, 11, c.task(c.scout, "Look.")), parley.CodeInvalid)
	must(t, "a task for another", tries(claim, 12, c.task(c.clerk, "Count.")))
	elsewhere := c.started(t, "hello") // not in the background
	refused(t, "a task from a conversation", tries(elsewhere, 1, c.task(c.scout, "Look.")), parley.CodeInvalid)
}

// delegationWakeCancelled: whoever removes or cancels the turn that would read answers loses nothing else: the other
// turns run, and the work does not wait for what nobody reads.
func delegationWakeCancelled(t *testing.T, w *world) {
	c := w.crew(t)
	id := c.hands(t, c.task(c.scout, "Look."))[0]
	work := c.claimed(t)["scout"]
	c.sends(t, work, 1, c.task(c.runner, "Run."), c.task(c.runner, "Hide."))
	c.errands(t)
	for _, text := range []string{"It is far.", "Hidden."} {
		c.answer(t, c.claimed(t)["runner"], text)
	}
	c.errands(t)
	queued := c.check(t, work.Fence.SessionID).Queue
	if len(queued) != 2 || queued[0].TurnID != queued[1].TurnID {
		t.Fatalf("the queue is %+v", queued)
	}
	_, err := c.store.SendQueued(c.ctx, c.scope, queued[1].ID, parley.DuringSteer, parley.ID{})
	refused(t, "SendQueued of a message that enters with another", err, parley.CodeConflict)
	_, err = c.store.RemoveQueued(c.ctx, c.scope, queued[1].ID)
	must(t, "RemoveQueued", err)
	if left := c.check(t, work.Fence.SessionID).Queue; len(left) != 1 {
		t.Fatalf("the queue is %+v", left)
	}
	_, err = c.store.RemoveQueued(c.ctx, c.scope, queued[0].ID)
	must(t, "RemoveQueued", err)
	c.is(t, id, parley.DelegationRunning) // its turn has not ended
	work.Turn.Step = 1
	c.answer(t, work, "All quiet.")
	c.is(t, id, parley.DelegationAnswered)
	c.check(t, work.Fence.SessionID)
}

// delegationScope: a delegation is visible where one of its sessions is.
func delegationScope(t *testing.T, w *world) {
	c := w.crew(t)
	ids := c.hands(t, c.task(c.scout, "Look."), c.task(c.clerk, "Count."))
	other := c.neighbour(t, "elsewhere")
	for _, scope := range []store.Scope{other.scope, {WorkspaceID: c.scope.WorkspaceID, ViewerID: parley.NewID()}} {
		_, err := c.store.Delegation(c.ctx, scope, ids[0])
		refused(t, "Delegation", err, parley.CodeNotFound)
		_, err = c.store.CancelDelegation(c.ctx, scope, ids[0])
		refused(t, "CancelDelegation", err, parley.CodeNotFound)
		listed, err := c.store.Delegations(c.ctx, scope, store.DelegationQuery{})
		must(t, "Delegations", err)
		if len(listed) != 0 {
			t.Errorf("a stranger sees %+v", listed)
		}
		_, err = c.store.Delegations(c.ctx, scope, store.DelegationQuery{SessionID: c.at})
		refused(t, "Delegations of a session", err, parley.CodeNotFound)
	}
	scope := store.Scope{WorkspaceID: c.scope.WorkspaceID, ViewerID: c.owner.ID}
	d, to := c.delegation(t, ids[0]), c.background(t, &c.scout).ID
	for name, q := range map[string]store.DelegationQuery{
		"2 all":              {},
		"2 of the sender":    {AgentID: c.lead.ID, Ascending: true},
		"1 of the receiver":  {AgentID: c.scout.ID},
		"2 of its session":   {SessionID: c.at},
		"1 of the other one": {SessionID: to, AgentID: c.lead.ID},
		"2 of the root":      {RootID: d.RootID},
		"2 tasks":            {Kind: parley.DelegationTask, Status: parley.DelegationDelivered},
		"0 questions":        {Kind: parley.DelegationQuestion},
		"0 answered":         {AgentID: c.lead.ID, Status: parley.DelegationAnswered},
		"1 after the first":  {Ascending: true, AfterCreated: d.CreatedAt, AfterID: d.ID},
		"1 of a page":        {SessionID: c.at, Limit: 1},
	} {
		listed, err := c.store.Delegations(c.ctx, scope, q)
		must(t, "Delegations", err)
		if got := fmt.Sprint(len(listed)); got != name[:1] {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// delegationRaces: of an answer and a cancel that meet one wins, and the sender is told once.
func delegationRaces(t *testing.T, w *world) {
	c := w.crew(t)
	for range 5 {
		id := c.hands(t, c.task(c.scout, "Look."))[0]
		work := c.claimed(t)["scout"]
		begin := c.begin(t, work.Fence, 1)
		settle := settlement(begin, "All quiet.")
		settle.End = completed()
		var together sync.WaitGroup
		var cancelled error
		together.Go(func() { _, cancelled = c.store.CancelDelegation(c.ctx, c.scope, id) })
		together.Go(func() { _, _ = c.store.SettleStep(c.ctx, work.Fence, settle) })
		together.Wait()
		c.errands(t)
		d := c.delegation(t, id)
		if won := cancelled == nil; won != (d.Status == parley.DelegationCancelled) || !d.Finished() {
			t.Errorf("the cancel answered %v, and the task is %s", cancelled, d.Status)
		}
		c.answer(t, c.claim(t), "Done.")
		c.claimsNothing(t)
	}
	if lines, _ := c.heard(t, c.at); len(lines) != 5 {
		t.Errorf("the lead was told %q", lines)
	}
}

// delegationRootRace: agents that send for one root at once stay within its bound.
func delegationRootRace(t *testing.T, w *world) {
	c := w.crew(t)
	const teams = 3
	c.hands(t, c.task(c.scout, "Look."), c.task(c.clerk, "Count."))
	claims := c.claimed(t)
	var under []parley.Agent
	for i := range parley.MaxDelegations/parley.MaxDelegationPair/2 + teams {
		for _, lead := range []parley.Agent{c.scout, c.clerk} {
			under = append(under, c.worker(t, fmt.Sprintf("%s-%d", lead.Slug, i), func(a *parley.Agent) {
				a.LeadID = lead.ID
			}))
		}
	}
	var together sync.WaitGroup
	sent := map[string]*int{"scout": new(int), "clerk": new(int)}
	for slug, n := range sent {
		claim := claims[slug]
		together.Go(func() {
			for step := range len(under) / 2 {
				member := under[2*step]
				if slug == "clerk" {
					member = under[2*step+1]
				}
				for _, call := range c.callTools(t, claim.Fence, step+1, parley.MaxDelegationPair) {
					sending, settle := c.task(member, "Go."), c.toolSettle(step+1, call)
					settle.Send = &sending
					_, err := c.store.SettleTool(c.ctx, claim.Fence, settle)
					switch parley.ErrorCode(err) {
					case "":
						*n++
					case parley.CodeInvalid:
						settle.Send = nil
						_, err = c.store.SettleTool(c.ctx, claim.Fence, settle)
						must(t, "SettleTool", err)
					default:
						t.Errorf("SettleTool: %v", err)
					}
				}
			}
		})
	}
	together.Wait()
	if all := 2 + *sent["scout"] + *sent["clerk"]; all != parley.MaxDelegations {
		t.Errorf("%d were sent for one root; want %d", all, parley.MaxDelegations)
	}
}

// delegationApart: answers for two tasks of one root begin two turns, so each task gets its own answer.
func delegationApart(t *testing.T, w *world) {
	c := w.crew(t)
	ids := c.hands(t, c.task(c.scout, "Look."), c.task(c.scout, "Listen."))
	for range ids {
		work := c.claimed(t)["scout"]
		c.sends(t, work, 1, c.task(c.runner, "Run."))
		work.Turn.Step = 1
		c.answer(t, work, "I have asked.")
	}
	c.errands(t)
	for range ids {
		c.answer(t, c.claimed(t)["runner"], "It is far.")
	}
	c.errands(t)
	for i, id := range ids {
		c.is(t, id, parley.DelegationRunning)
		c.answer(t, c.claimed(t)["scout"], fmt.Sprintf("Answer %d.", i+1))
		c.is(t, id, parley.DelegationAnswered)
	}
	c.errands(t)
	c.answer(t, c.claim(t), "Done.")
	c.hears(t, c.at, `Answer to your task to scout (scout), "Look.": | Answer 1.`,
		`Answer to your task to scout (scout), "Listen.": | Answer 2.`)
}

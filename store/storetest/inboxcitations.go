package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
)

// cites returns how a message of a session's record is cited, as an item keeps it.
func (w *world) cites(t reporter, session parley.ID, sequence int64) parley.InboxCitation {
	t.Helper()
	record := w.check(t, session).Record
	if sequence > int64(len(record)) {
		t.Fatalf("the session has %d messages; the test cites %d", len(record), sequence)
	}
	return parley.InboxCitation{SessionID: session, Sequence: sequence, MessageID: record[sequence-1].ID}
}

// inboxCitations: what a lead reads says how to cite it; the item keeps each message that it cites, once, and nothing
// is sent of a briefing that cites what is not in the lead's work.
func inboxCitations(t *testing.T, w *world) {
	c := w.crew(t)
	id := c.hands(t, c.task(c.scout, "Look."))[0]
	work := c.claimed(t)["scout"]
	report := parley.Sending{Kind: parley.DelegationReport, To: c.lead.ID, Text: "Half way."}
	note := c.sends(t, work, 1, report)[0]
	below := c.sends(t, work, 2, c.task(c.runner, "Run."))[0]
	c.errands(t)
	both := c.claimed(t)
	c.answer(t, both["lead"], "Good.")
	c.answer(t, both["runner"], "It is far.")
	c.errands(t)
	work.Turn.Step = 2
	c.answer(t, work, "I have asked.")
	c.errands(t)
	c.answer(t, c.claimed(t)["scout"], "All quiet.")
	c.errands(t)
	answer, far := c.answerOf(t, id), c.answerOf(t, below)
	told := c.message(t, c.delegation(t, note).CallMessageID)
	reported := parley.InboxCitation{SessionID: told.SessionID, Sequence: told.Sequence, MessageID: told.ID}
	var said string
	lead := c.claim(t)
	for _, m := range c.check(t, c.at).Record {
		if m.Role == parley.RoleUser {
			said += string(m.Content) + "\n"
		}
	}
	for _, line := range []string{
		`Answer to your task to scout (scout), \"Look.\" ` + answer.String() + `:`, "Report from scout (scout) " +
			reported.String() + ":",
	} {
		if !strings.Contains(said, line) {
			t.Errorf("the lead does not read %s in\n%s", line, said)
		}
	}
	own := c.cites(t, c.at, 1)
	stranger, untouched := c.session(t), c.background(t, &c.clerk).ID
	c.exchange(t, stranger, "Hello?", "Hello.")
	c.post(t, untouched, c.say("Hello?"))
	c.answer(t, c.claim(t), "Hello.")
	wrong := []string{
		fmt.Sprintf("[%s:99]", answer.SessionID), fmt.Sprintf("[%s:0]", answer.SessionID),
		fmt.Sprintf("[%s:2]", stranger), fmt.Sprintf("[%s:2]", untouched), "[0198c6c2-7f2b…:1]",
		fmt.Sprintf("[%s:1]", parley.NewID()), fmt.Sprintf("[%s:99999999999999999999]", c.at),
	}
	many := ""
	for n := range parley.MaxInboxCitations + 1 {
		many += fmt.Sprintf("[%s:%d]", c.at, n+1)
	}
	call := c.callTools(t, lead.Fence, 1, 1)[0]
	for _, text := range append(wrong, many) {
		sending := briefing("the harvest")
		sending.Text = "It is so " + own.String() + " " + text
		settle := c.toolSettle(1, call)
		settle.Send = &sending
		_, err := c.store.SettleTool(c.ctx, lead.Fence, settle)
		refused(t, "a briefing that cites "+text, err, parley.CodeInvalid)
		if err != nil && text != many && !strings.Contains(err.Error(), text) {
			t.Errorf("the error does not name %s: %v", text, err)
		}
	}
	_, err := c.store.SettleTool(c.ctx, lead.Fence, c.toolSettle(1, call))
	must(t, "SettleTool", err)
	sending := briefing("the harvest " + own.String())
	sending.Summary = "Quiet " + answer.String() + " and [12] but " + answer.String()
	sending.Text = "Far " + far.String() + ", half way " + reported.String() + ", quiet " + answer.String()
	c.sends(t, lead, 2, sending)
	c.errands(t)
	if diff := cmp.Diff([]parley.InboxCitation{own, answer, far, reported}, c.item(t).Citations); diff != "" {
		t.Errorf("the item cites (-want +got):\n%s", diff)
	}
}

// answerOf returns how the answer to a delegation is cited.
func (w *world) answerOf(t reporter, id parley.ID) parley.InboxCitation {
	t.Helper()
	m := w.message(t, w.is(t, id, parley.DelegationAnswered).AnswerMessageID)
	return parley.InboxCitation{SessionID: m.SessionID, Sequence: m.Sequence, MessageID: m.ID}
}

// inboxCitesPersons: of what a lead asked its owner it may cite the answer, and nothing else of that session.
func inboxCitesPersons(t *testing.T, w *world) {
	c := w.crew(t)
	id := c.hands(t, asks("Which field?"))[0]
	_, err := c.answers(c.item(t).ID, "The northern one.")
	must(t, "AnswerInboxItem", err)
	c.errands(t)
	home, answer := c.claim(t), c.answerOf(t, id)
	var said parley.UserContent
	must(t, "Unmarshal", json.Unmarshal(home.Trigger.Content, &said))
	if !strings.Contains(said.Text, answer.String()) {
		t.Errorf("the lead reads %q; it could cite %s", said.Text, &answer)
	}
	question := c.cites(t, answer.SessionID, 1)
	sending := briefing("the field " + question.String())
	settle := c.toolSettle(1, c.callTools(t, home.Fence, 1, 1)[0])
	settle.Send = &sending
	_, err = c.store.SettleTool(c.ctx, home.Fence, settle)
	refused(t, "a briefing that cites another message of the session", err, parley.CodeInvalid)
	settle.Send = nil
	_, err = c.store.SettleTool(c.ctx, home.Fence, settle)
	must(t, "SettleTool", err)
	c.sends(t, home, 2, briefing("the field "+answer.String()))
	c.errands(t)
	newest := c.inbox(t, briefings())[0]
	if diff := cmp.Diff([]parley.InboxCitation{answer}, newest.Citations); diff != "" {
		t.Errorf("the item cites (-want +got):\n%s", diff)
	}
}

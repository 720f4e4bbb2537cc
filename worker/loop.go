package worker

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/schema"
	"example.org/parley/store"
)

// completed returns the end of a complete turn. For an iteration of a loop it says whether the loop's condition holds.
// a is the last answer; nil reads it from the record.
func (u *until) completed(a *answer) (store.TurnEnd, error) {
	end := store.TurnEnd{Status: parley.TurnCompleted}
	if u.claim.Loop == nil || u.claim.Loop.Until == nil {
		return end, nil
	}
	until := u.claim.Loop.Until
	if until.ToolCalled != "" {
		var err error
		end.Met, err = u.succeeded(until.ToolCalled)
		return end, err
	}
	var text string
	if a != nil {
		text = a.text()
	} else {
		u.w.recalling.Lock()
		defer u.w.recalling.Unlock()
		var err error
		if text, err = u.recordedText(); err != nil {
			return end, err
		}
	}
	met, err := holds(u.ctx, until, text)
	if err != nil { // it takes too long, or an earlier version accepted it
		u.log().
			ErrorContext(u.ctx, "a loop's condition cannot be checked; it counts as not met", "loop_id",
				u.claim.Loop.ID, "error", err)
	}
	end.Met = met
	return end, nil
}

// holds checks the condition against an answer's text.
func holds(ctx context.Context, until *parley.LoopUntil, text string) (bool, error) {
	if until.TextMatches != "" {
		return schema.Matches(ctx, until.TextMatches, text)
	}
	wanted, err := schema.Read(until.Schema)
	if err != nil {
		return false, err
	}
	return wanted.Fits(ctx, parley.JSONIn(text))
}

// succeeded reports whether the iteration called a tool successfully, in this turn or in one that it resumes.
func (u *until) succeeded(tool string) (found bool, err error) {
	scope, record := store.Scope{WorkspaceID: u.fence.WorkspaceID}, requesters{u.claimed}
	for turn := u.claim.Turn; ; {
		results := store.MessageQuery{
			Roles: []parley.Role{parley.RoleToolResult}, ToolName: tool, TurnID: turn.ID,
		}
		if err := record.messages(u.fence.SessionID, results, func(m *parley.Message) (bool, error) {
			var content parley.ToolResultContent
			found = json.Unmarshal(m.Content, &content) == nil && content.Success
			return !found, nil
		}); err != nil || found || turn.ContinuesID.IsZero() {
			return found, err
		}
		if turn, err = u.w.store.Turn(u.writes, scope, turn.ContinuesID); err != nil {
			return false, err
		}
	}
}

// recordedText returns the text of the turn's last answer, which is as long as an answer may be; recalling is held.
func (u *until) recordedText() (string, error) {
	answers := store.MessageQuery{
		Roles: []parley.Role{parley.RoleAssistant}, Status: parley.MessageCompleted, TurnID: u.fence.TurnID,
		Descending: true,
	}
	var texts []string // from the end
	step := 0
	record := requesters{u.claimed}
	err := record.messages(u.fence.SessionID, answers, func(m *parley.Message) (bool, error) {
		if step == 0 {
			step = m.Step
		}
		if m.Step != step {
			return false, nil
		}
		var content parley.AssistantContent
		if json.Unmarshal(m.Content, &content) == nil {
			texts = append(texts, content.Text)
		}
		return true, nil
	})
	slices.Reverse(texts)
	return strings.Join(texts, ""), err
}

// text returns the answer's text over all its rows.
func (a *answer) text() string {
	var text strings.Builder
	for _, r := range a.rows {
		if r.role == parley.RoleAssistant && r.stream != nil {
			text.WriteString(r.stream.Text(parley.KindText))
		}
	}
	return text.String()
}

package worker

import (
	"context"
	"encoding/json"
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
	return wanted.Fits(ctx, jsonOf(text))
}

// jsonOf returns the JSON of an answer: all of its text, or the content of its only fenced block.
func jsonOf(text string) string {
	const fence = "```"
	parts := strings.Split(text, fence)
	if len(parts) != 3 {
		return text
	}
	_, inside, found := strings.Cut(parts[1], "\n") // after the language's name
	if !found {
		return parts[1]
	}
	return inside
}

// succeeded reports whether the iteration called a tool successfully, in this turn or in one that it resumes.
func (u *until) succeeded(tool string) (bool, error) {
	scope := store.Scope{WorkspaceID: u.fence.WorkspaceID}
	for turn := u.claim.Turn; ; {
		results, err := u.w.store.Messages(u.writes, scope, u.fence.SessionID, store.MessageQuery{
			Roles: []parley.Role{
				parley.RoleToolResult,
			},
			ToolName:   tool,
			TurnID:     turn.ID,
			RecordOnly: true,
			Limit:      parley.MaxPage,
		})
		if err != nil {
			return false, err
		}
		for i := range results {
			var content parley.ToolResultContent
			if json.Unmarshal(results[i].Content, &content) == nil && content.Success {
				return true, nil
			}
		}
		if turn.ContinuesID.IsZero() {
			return false, nil
		}
		if turn, err = u.w.store.Turn(u.writes, scope, turn.ContinuesID); err != nil {
			return false, err
		}
	}
}

// recordedText returns the text of the turn's last answer.
func (u *until) recordedText() (string, error) {
	rows, err := u.w.store.Messages(
		u.writes,
		store.Scope{WorkspaceID: u.fence.WorkspaceID},
		u.fence.SessionID,
		store.MessageQuery{
			Roles: []parley.Role{
				parley.RoleAssistant,
			},
			Status:     parley.MessageCompleted,
			TurnID:     u.fence.TurnID,
			RecordOnly: true,
			Limit:      parley.MaxPage,
		},
	)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	var text strings.Builder
	for i := range rows {
		var content parley.AssistantContent
		if rows[i].Step == rows[len(rows)-1].Step && json.Unmarshal(rows[i].Content, &content) == nil {
			text.WriteString(content.Text)
		}
	}
	return text.String(), nil
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

package conversation

import (
	"context"
	"encoding/json"
	"iter"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/event"
	"example.org/parley/stream"
)

// Approvals yields each pending question about the turn's tool calls as soon as it is asked, and ends with the turn.
// Range over it in a separate goroutine beside Text, and answer with Conversation.Decide.
func (t *Turn) Approvals(ctx context.Context) iter.Seq2[parley.Approval, error] {
	return func(yield func(parley.Approval, error) bool) {
		home := t.conversation.home
		for frame, err := range t.Frames(ctx) {
			if err != nil {
				yield(parley.Approval{}, err)
				return
			}
			if frame.Kind != stream.EventFrame || frame.Event.Type != parley.EventApprovalCreated {
				continue
			}
			var data event.ApprovalCreated
			if err := json.Unmarshal(frame.Event.Data, &data); err != nil {
				yield(
					parley.Approval{},
					parley.WrapError(parley.CodeInternal, err, "the approval's event cannot be read"),
				)
				return
			}
			approval, err := home.Engine.Approval(ctx, home.Owner, data.ApprovalID)
			if err == nil && approval.State != parley.ApprovalPending {
				continue
			}
			if !yield(approval, err) || err != nil {
				return
			}
		}
	}
}

// Decide answers a question about a tool call of any session of the home. CodeConflict, with the state, if it is no
// longer pending.
func (c *Conversation) Decide(
	ctx context.Context,
	approvalID parley.ID,
	input engine.DecisionInput,
) (parley.Approval, error) {
	return c.home.Engine.Decide(ctx, c.home.Owner, approvalID, input)
}

package worker

import (
	"cmp"
	"strconv"

	"example.org/parley"
	"example.org/parley/store"
)

// settleAs settles the rows of a step in one transaction, and ends the turn if end is set; more reports that a steer
// kept the turn from ending.
func (s *asking) settleAs(a *answer, status parley.MessageStatus, end *store.TurnEnd) (more bool, err error) {
	return s.settleWith(a, store.StepSettle{End: end}, status)
}

// settleWith is settleAs with the step's other outcomes.
func (s *asking) settleWith(a *answer, settle store.StepSettle, status parley.MessageStatus) (more bool, err error) {
	settle.Step, settle.Call = a.step, a.call
	settle.Blocks = make([]store.BlockSettled, len(a.rows))
	for i, r := range a.rows {
		if settle.Blocks[i], err = r.settled(status, a.failure); err != nil {
			return false, err
		}
	}
	if end := settle.End; end != nil && !s.claim.Turn.TransformID.IsZero() {
		end.Transform = cmp.Or(end.Transform, &store.TransformEnd{})
		for i := range settle.Blocks {
			end.Transform.Chunks += settle.Blocks[i].Chunks
		}
	}
	first := &settle.Blocks[0]
	if !a.usage.IsZero() {
		first.Usage = &a.usage
	}
	first.Metadata = a.metadata()
	s.w.flusher.remove(a.rows)
	var settled store.StepSettled
	err = s.persist(func() (err error) {
		settled, err = s.w.store.SettleStep(s.writes, s.fence, settle)
		return err
	})
	if err != nil {
		if parley.ErrorCode(err) != parley.CodeFenced {
			s.w.flusher.flush(s.writes, a.rows) // saves as much text as possible
		}
		a.drop()
		return false, err
	}
	s.responses.remember(a)
	s.release()
	if s.claim.Turn.Suspicion() != parley.Unsuspected { // no longer a suspect: others may run again
		poke(s.w.claimNow)
	}
	return settled.More, nil
}

// metadata returns an answer's time, cost and task, stored on its first row, as canonical JSON.
func (a *answer) metadata() []byte {
	out := append(make([]byte, 0, 128), '{')
	if a.attempt > 1 {
		out = append(strconv.AppendInt(append(out, `"attempt":`...), int64(a.attempt), 10), ',')
	}
	if a.question != nil && a.question.served != nil {
		out = append(out, `"cached_response":true,`...)
	}
	if a.call.Cost != nil {
		out = append(append(append(out, `"cost":`...), a.call.Cost.String()...), ',')
	}
	if a.call.Estimated {
		out = append(out, `"estimated":true,`...)
	}
	feature, task := parley.TaskOf(a.turn.claim.Trigger.Metadata)
	if feature != "" {
		out = append(parley.AppendJSONString(append(out, `"`+parley.FeatureField+`":`...), feature), ',')
	}
	if a.finish == parley.FinishLength {
		out = append(out, `"finish":"length",`...) // cut off: somebody may want to continue it
	}
	if a.call.FirstTokenMS != nil {
		out = strconv.AppendInt(append(out, `"first_token_ms":`...), *a.call.FirstTokenMS, 10)
		out = append(out, ',')
	}
	out = parley.AppendJSONString(append(out, `"provider":`...), a.turn.settings.Model.Provider())
	if a.call.Saved != nil && *a.call.Saved != 0 {
		out = append(append(out, `,"saved":`...), a.call.Saved.String()...)
	}
	if task != "" {
		out = parley.AppendJSONString(append(out, `,"`+parley.TaskField+`":`...), task)
	}
	if a.call.TotalMS != nil {
		out = strconv.AppendInt(append(out, `,"total_ms":`...), *a.call.TotalMS, 10)
	}
	return append(out, '}')
}

// calls returns the tool calls of a complete answer, in order.
func (a *answer) calls() []toolCall {
	var calls []toolCall
	for _, r := range a.rows {
		if r.role != parley.RoleToolCall {
			continue
		}
		arguments, ok := readArguments(r.stream.Text(parley.KindArguments))
		calls = append(
			calls,
			toolCall{messageID: r.id, id: r.callID, name: r.toolName, arguments: arguments, malformed: !ok},
		)
	}
	return calls
}

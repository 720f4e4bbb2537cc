package worker

import (
	"errors"
	"slices"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/store"
)

// entering has steers count as what they become with the step that shows them.
func entering(steers []parley.Message) {
	for i := range steers {
		steers[i].Status = parley.MessageCompleted
	}
}

// noQuestion tells why there is none: a failure of the turn whose prompt finds no room on
// this server at all, else the error.
func (t *turn) noQuestion(err error) (*question, *parley.Failure, error) {
	if errors.Is(err, errNeverRoom) {
		return nil, &parley.Failure{Class: parley.ClassContextLength, Sentence: neverRoomSentence}, nil
	}
	return nil, nil, err
}

// question builds the request of a step that shows steers. A failure ends the
// turn; an error is the store's.
func (t *turn) question(at place, steers []parley.Message) (*question, *parley.Failure, error) {
	q := &question{place: at, system: t.settings.System, tools: t.tools.Text()}
	entering(steers)
	t.unreserve()
	if err := t.weighed(steers); err != nil {
		return t.noQuestion(err)
	}
	beside := t.weigh(steers)
	budget := prompt.NewBudget(t.info, t.settings.Parameters, beside, t.w.ratios.Of(t.settings.Model))
	selection, err := prompt.Window(prompt.View{
		Policy:  t.settings.Policy,
		Session: t.claim.Session,
		Turn:    t.claim.Turn,
		Budget:  budget,
		Tail:    t.tail,
		Head:    t.head,
	})
	if err != nil {
		return t.noQuestion(err)
	}
	if selection.Excess > 0 {
		return nil, t.tooLong(budget, &selection), nil
	}
	q.estimate = selection.Tokens + beside
	q.tokens = int64(budget.Scaled(q.estimate))
	t.claim.Session.Context.Anchor = selection.Anchor
	q.window = &store.Window{
		Anchor:   selection.Anchor,
		Messages: int64(len(selection.Messages)),
		Tokens:   int64(selection.Tokens),
	}
	if n := len(selection.Messages); n > 0 {
		t.wrote(selection.Messages[n-1].Sequence)
	}
	t.look(&selection)
	for i := range steers {
		q.steers = append(q.steers, store.Steered{MessageID: steers[i].ID, Revision: steers[i].Revision})
		steers[i].Sequence = t.last + 1 + int64(i) // the place that it takes with this step
	}
	if t.keeps {
		q.shown = selection.Messages
	}
	files, failure, err := t.attach(slices.Concat(selection.Messages, steers))
	if err != nil {
		return t.noQuestion(err)
	}
	if failure != nil {
		return nil, failure, nil
	}
	request, manifest, err := prompt.Build(t.settings, selection, steers, t.tools, files)
	q.call = parley.Call{
		WorkspaceID: t.fence.WorkspaceID, SessionID: t.fence.SessionID, TurnID: t.fence.TurnID, Step: at.step,
		Provider: t.settings.Model.Provider(), Model: t.settings.Model, Parameters: t.settings.Parameters,
		Think: t.settings.Think, Search: t.settings.Search, Manifest: manifest, Outcome: parley.CallOpen,
	}
	if err == nil {
		q.images = showsImages(&request)
		q.encoded, q.filter, err = t.encode(&request, &manifest)
		if err == nil {
			err = t.reserve(len(q.encoded.Body))
		}
		if err == nil && t.responses != nil {
			q.key, err = t.responseKey(&request, q.encoded)
		}
		if t.keeps || t.w.observer.Contents() { // else it need not outlive its encoding
			q.request = &request
		}
	}
	if err != nil {
		if parley.ErrorCode(err) == parley.CodeInvalid {
			return q, t.unusable(err), nil
		}
		return t.noQuestion(err)
	}
	q.call.Manifest, q.call.RequestHash, q.call.EncoderVersion = manifest, parley.HashOf(
		q.encoded.Body,
	), q.encoded.Version
	if q.system != "" {
		q.call.SystemHash = parley.HashOf([]byte(q.system))
	}
	q.call.ToolsHash, q.call.MiddlewareHash = t.tools.Hash(), t.layers.Hash()
	return q, nil, nil
}

// head is what may stand before the window.
func (t *turn) head() (parley.ContextHead, error) {
	head, err := t.w.store.ContextHead(t.writes, t.fence.WorkspaceID, t.fence.SessionID)
	if err == nil {
		err = t.weighed(head.Pinned)
	}
	return head, err
}

// tail is the record for the model's context. While nothing was written behind
// the trigger it is at hand, and all there is for a record without another
// message and for a policy that wants no other turn's. Such a policy reads on from
// there as many rows as the turn has written. What lies beyond the first few is read
// once there is room for it.
func (t *turn) tail(before int64, limit int) (rows []parley.Message, more bool, err error) {
	trigger := &t.claim.Trigger
	if before == 0 && trigger.Content != nil && trigger.Sequence == t.last && !trigger.Internal &&
		(t.last == 1 || t.settings.Policy.Kind == parley.PolicySingle) {
		return []parley.Message{*trigger}, false, nil
	}
	most := promptFirst
	if before > 0 {
		most = promptPage
		if err := t.reserve(t.read + promptPage); err != nil {
			return nil, false, err
		}
	}
	if own := t.last - trigger.Sequence + 1; before == 0 && t.settings.Policy.Kind == parley.PolicySingle &&
		own < int64(limit) {
		rows, more, err = t.w.store.ContextTail(t.writes, t.fence.WorkspaceID, t.fence.SessionID, 0, int(own), most)
		whole := !more || slices.ContainsFunc(rows, func(m parley.Message) bool { return m.ID == trigger.ID })
		if err == nil && whole { // else others wrote to the turn meanwhile, or its rows are long
			return rows, false, t.weighed(rows)
		}
	}
	if err == nil {
		rows, more, err = t.w.store.ContextTail(t.writes, t.fence.WorkspaceID, t.fence.SessionID, before, limit, most)
	}
	if err == nil {
		err = t.weighed(rows)
	}
	return rows, more, err
}
